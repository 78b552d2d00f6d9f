"""Networks described by name and settings, so that a saved model can be rebuilt without code."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from augerino.errors import InputError
from augerino.nets.registry import BUILT_IN
from augerino.nets.weights import first_mismatch

_TIMM_SETTINGS = ("num_classes", "in_chans")


def describe(net: nn.Module) -> dict[str, Any]:
    """Describes a network as JSON: a built-in one by its settings, one of timm by its name."""
    for name, kind in BUILT_IN.items():
        if type(net) is kind:
            return {"kind": name, "settings": net.settings()}  # type: ignore[operator]
    timm_description = _describe_timm(net)
    if timm_description is not None:
        return timm_description
    return {"kind": "other", "class": f"{type(net).__module__}.{type(net).__qualname__}"}


def build(description: Any, weights: Mapping[str, Tensor], folder: Path) -> nn.Module:
    """Creates the network that `describe` described, with random weights.

    Args:
        description: description from a file; it is not trusted.
        weights: weights whose names and shapes the network must have.
        folder: folder of the saved model, for error messages.
    """
    config = folder / "config.json"
    if not isinstance(description, dict) or not isinstance(description.get("settings", {}), dict):
        raise InputError(f"{config} does not describe a network: restore it from a copy.")
    kind = str(description.get("kind"))
    settings = description.get("settings", {})
    if kind == "timm":
        return _build_timm(str(description.get("name")), settings, folder)
    if kind not in BUILT_IN:
        class_name = str(description.get("class", kind))[:200]
        raise InputError(
            f"The network of {folder} ({class_name}) is part of neither augerino nor timm: "
            "build it and pass it, as in from_pretrained(folder, net=Net())."
        )
    try:
        with torch.device("meta"):  # costs nothing, however large the numbers in the file are
            mismatch = first_mismatch(BUILT_IN[kind](**settings).state_dict(), weights)
        if mismatch is None:
            return BUILT_IN[kind](**settings)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        mismatch = str(error).splitlines()[0]
    raise InputError(f"{config} describes a {kind} that does not fit the weights: {mismatch}.")


def _describe_timm(net: nn.Module) -> dict[str, Any] | None:
    """Describes a network of timm by its name.

    None for other networks, and for networks with options that the name does not determine.
    """
    config: Any = getattr(net, "pretrained_cfg", None)
    if "timm" not in sys.modules or not isinstance(config, Mapping) or "architecture" not in config:
        return None
    name = config["architecture"]
    first: Any = config.get("first_conv")
    try:
        if not isinstance(first, str):
            first = first[0]
        layer: Any = net.get_submodule(first)
        settings = {
            "num_classes": int(net.num_classes),  # type: ignore[arg-type]
            "in_chans": int(layer.weight.shape[1]),
        }
        rebuilt = sys.modules["timm"].create_model(name, pretrained=False, **settings)
    except (AttributeError, TypeError, IndexError, RuntimeError, ValueError):
        return None
    if str(rebuilt) != str(net) or first_mismatch(rebuilt.state_dict(), net.state_dict()):
        return None
    return {"kind": "timm", "name": name, "settings": settings}


def _build_timm(name: str, settings: Mapping[str, Any], folder: Path) -> nn.Module:
    try:
        import timm
    except ImportError as error:
        raise InputError(
            f'The network of {folder} is {name[:200]} of timm: pip install "augerino[timm]"'
        ) from error
    # A name with a prefix would make timm download or read files: only its own models are built.
    if not timm.is_model(name) or ":" in name or "/" in name:
        raise InputError(
            f"timm has no model '{name[:200]}', which {folder} requires: update timm, or pass net=."
        )
    for key, value in settings.items():
        if key not in _TIMM_SETTINGS or not isinstance(value, int):
            raise InputError(
                f"{folder / 'config.json'} gives {name} settings other than num_classes and "
                "in_chans."
            )
    try:
        return timm.create_model(name, pretrained=False, **settings)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise InputError(
            f"timm cannot build {name} as {folder} describes it: {str(error).splitlines()[0]}"
        ) from error
