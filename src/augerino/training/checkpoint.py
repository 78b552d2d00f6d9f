"""Nested training state in one safetensors file: tensors as tensors, everything else as JSON in its header. No pickles."""

import json
import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.runtime import files

VERSION = 1

_PLAIN = (str, int, float, bool, type(None))


def save(path: str | Path, state: dict[str, Any]) -> None:
    """Writes nested dicts, lists and tuples of tensors, numbers, strings and None, atomically."""
    from safetensors.torch import save as serialize

    tensors: dict[str, Tensor] = {}
    header = {
        "format": "augerino-checkpoint",
        "version": str(VERSION),
        "state": json.dumps(_outline(state, tensors)),
    }
    files.write_atomically(path, serialize(tensors, metadata=header))


def load(path: str | Path) -> dict[str, Any]:
    """Reads what `save` wrote, on the CPU. Nothing in the file is executed."""
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no checkpoint {path}.")
    try:
        with safe_open(
            path, framework="pt"
        ) as file:  # which compares what tensors claim with the bytes there are
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(
            f"{path} is not a readable checkpoint: {error}. Restore it from a copy or start a new run."
        ) from error
    if header.get("format") != "augerino-checkpoint":
        raise InputError(f"{path} is a safetensors file, but not a checkpoint of augerino.")
    if header.get("version") != str(VERSION):
        raise InputError(
            f"{path} has checkpoint version {header.get('version')}, but this augerino reads version {VERSION}: "
            "update augerino, or start a new run."
        )
    try:
        state = _restore(json.loads(header["state"]), tensors)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{path} is a damaged checkpoint ({str(error)[:200]!r}). Restore it from a copy or start a new run."
        ) from error
    if not isinstance(state, dict):
        raise InputError(
            f"{path} is a damaged checkpoint. Restore it from a copy or start a new run."
        )
    return state


def check_like(saved: Any, own: Any, where: str) -> None:
    """Raises ValueError where a loaded value is not built as the one whose place it is to take, and names the place.

    Tensors must agree in shape and type, lists in length, dicts in their keys, and the rest in what they are; numbers must be
    finite, may be whole or not, and may stand where there is None so far.
    """
    if isinstance(own, Tensor):
        fits = isinstance(saved, Tensor) and saved.shape == own.shape and saved.dtype == own.dtype
    elif isinstance(own, dict):
        fits = isinstance(saved, dict) and saved.keys() == own.keys()
    elif isinstance(own, list | tuple):
        fits = isinstance(saved, list | tuple) and len(saved) == len(own)
    elif isinstance(own, bool | str):
        fits = type(saved) is type(own)
    else:
        fits = (type(saved) in (int, float) and math.isfinite(saved)) or (
            own is None and saved is None
        )
    if not fits:
        raise ValueError(f"{where} is not as it should be")
    for key, value in (
        own.items()
        if isinstance(own, dict)
        else enumerate(own)
        if isinstance(own, list | tuple)
        else ()
    ):
        check_like(saved[key], value, f"{where}[{key!r}]")


def _outline(value: Any, tensors: dict[str, Tensor]) -> Any:
    """JSON for a value, its tensors moved out. Dicts become lists of pairs, so that keys keep their type."""
    if isinstance(value, Tensor):
        name = f"t{len(tensors)}"
        tensors[name] = value.detach().cpu().clone(memory_format=torch.contiguous_format)
        return {"tensor": name}
    if isinstance(value, dict):
        return {
            "dict": [
                [_outline(key, tensors), _outline(item, tensors)] for key, item in value.items()
            ]
        }
    if isinstance(value, list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_outline(item, tensors) for item in value]}
    if isinstance(value, _PLAIN):
        return value
    raise TypeError(
        f"A checkpoint holds tensors, numbers, strings, lists and dicts, but got a {type(value).__name__}."
    )


def _restore(value: Any, tensors: dict[str, Tensor]) -> Any:
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a list without its kind")
        return value
    ((kind, content),) = value.items()
    if kind == "tensor":
        return tensors[content]
    if kind == "dict":
        return {_restore(key, tensors): _restore(item, tensors) for key, item in content}
    if kind not in ("list", "tuple") or not isinstance(content, list):
        raise ValueError(f"unknown kind {str(kind)[:40]!r}")
    items = [_restore(item, tensors) for item in content]
    return tuple(items) if kind == "tuple" else items
