"""Nested training state in one safetensors file, without pickles.

Tensors are stored as tensors, everything else as JSON in the header of the file.
"""

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.runtime import files

VERSION = 1
FORMAT = "augerino-checkpoint"

_PLAIN = (str, int, float, bool, type(None))
_RESTORE = "Restore it from a copy or start a new run."


def save(path: str | Path, state: dict[str, Any]) -> None:
    """Writes nested dicts, lists and tuples of tensors, numbers, strings and None, atomically."""
    from safetensors.torch import save as serialize

    tensors: dict[str, Tensor] = {}
    header = {
        "format": FORMAT,
        "version": str(VERSION),
        "state": json.dumps(_encode(state, tensors)),
    }
    files.write_atomically(path, serialize(tensors, metadata=header))


def load(path: str | Path) -> dict[str, Any]:
    """Reads a file that `save` wrote, on the CPU. Executes nothing from the file."""
    path = Path(path)
    header, tensors = _read(path)
    if header.get("format") != FORMAT:
        raise InputError(f"{path} is a safetensors file, but not an augerino checkpoint.")
    if header.get("version") != str(VERSION):
        raise InputError(
            f"{path} has checkpoint version {header.get('version')}, but this augerino reads "
            f"version {VERSION}: update augerino, or start a new run."
        )
    try:
        state = _decode(json.loads(header["state"]), tensors)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        reason = str(error)[:200]
        raise InputError(f"{path} is a damaged checkpoint ({reason!r}). {_RESTORE}") from error
    if not isinstance(state, dict):
        raise InputError(f"{path} is a damaged checkpoint. {_RESTORE}")
    return state


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """The header and the tensors of a safetensors file."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise InputError(f"There is no checkpoint {path}.")
    tensors = {}
    try:
        with safe_open(path, framework="pt") as file:  # compares the sizes with the bytes there
            header = file.metadata() or {}
            for name in file.keys():  # noqa: SIM118 (not a dict)
                tensors[name] = file.get_tensor(name)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path} is not a readable checkpoint: {error}. {_RESTORE}") from error
    return header, tensors


def _encode(value: Any, tensors: dict[str, Tensor]) -> Any:
    """JSON of a value; its tensors are moved to `tensors`.

    Dicts become lists of pairs, so that their keys keep their type.
    """
    if isinstance(value, Tensor):
        name = f"t{len(tensors)}"
        tensors[name] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"tensor": name}
    if isinstance(value, dict):
        pairs = [[_encode(key, tensors), _encode(item, tensors)] for key, item in value.items()]
        return {"dict": pairs}
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(item, tensors) for item in value]}
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(
        "A checkpoint holds tensors, numbers, strings, lists and dicts, "
        f"but got a {type(value).__name__}."
    )


def _decode(value: Any, tensors: dict[str, Tensor]) -> Any:
    """The value that `_encode` encoded."""
    if isinstance(value, list):
        raise ValueError("a list without its kind")
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {_decode(key, tensors): _decode(item, tensors) for key, item in content}
    if kind not in ("list", "tuple") or not isinstance(content, list):
        raise ValueError(f"unknown kind {str(kind)[:40]!r}")
    items = [_decode(item, tensors) for item in content]
    return tuple(items) if kind == "tuple" else items
