"""A trained model as a folder: model.safetensors, policy.json, config.json. Loading executes nothing that it holds."""

import hashlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.models import AVERAGES, EquivariantModel, InvariantModel
from augerino.nets.registry import BUILT_IN
from augerino.nets.weights import first_mismatch
from augerino.runtime import files
from augerino.saving.policy import Policy

VERSION = 1


@dataclass(frozen=True)
class Pretrained:
    """What a folder holds: settings, the learned augmentation, and the network's weights."""

    folder: Path
    config: Mapping[str, Any]
    policy: Policy
    weights: Mapping[str, Tensor]


def save_pretrained(
    model: InvariantModel, folder: str | Path, *, example: Tensor | None = None
) -> None:
    """Writes a model to a folder: weights as safetensors, augmentation as a policy, settings as JSON.

    An earlier save is replaced. A folder with other content is left untouched and rejected.

    Args:
        model: the averaged model.
        folder: created if it does not exist.
        example: a batch of inputs, whose shape and dtype are recorded.
    """
    if model.average not in AVERAGES.values():
        raise InputError(
            f"The averaging rule '{model.average.name}' is your own, which no file can hold: "
            f"use {', '.join(AVERAGES)}."
        )
    augmentation = model.augmentation
    action = getattr(model, "action", augmentation.transform)
    action_data = None
    if action is not augmentation.transform:
        action_policy = Policy.of(Augmentation(action, augmentation.distribution))
        action_data = action_policy.data["transform"]
    example_data = None
    if example is not None:
        dtype = str(example.dtype).removeprefix("torch.")
        example_data = {"shape": list(example.shape[1:]), "dtype": dtype}
    config = {
        "kind": "EquivariantModel" if model.moves_outputs else "InvariantModel",
        "average": model.average.name,
        "train_copies": model.train_copies,
        "test_copies": model.test_copies,
        "chunk": model.chunk,
        "action": action_data,
        "input": example_data,
    }
    save(folder, config, Policy.of(augmentation), model.net)


def from_pretrained(
    folder: str | Path,
    net: nn.Module | None = None,
    *,
    kinds: Mapping[str, type[nn.Module]] | None = None,
) -> InvariantModel:
    """Loads a model that `save_pretrained` wrote, in evaluation mode. Executes nothing from the folder.

    Args:
        folder: the folder.
        net: the network to load the weights into; not needed for augerino's own networks and timm's.
        kinds: your own transforms and distributions by name, as in `Policy.augmentation`.
    """
    saved = load(folder)
    config = saved.config
    counts = {name: config.get(name) for name in ("train_copies", "test_copies", "chunk")}
    if not _is_valid(config, counts):
        raise InputError(
            f"{saved.folder / 'config.json'} does not hold the settings of a model: "
            "restore it from a copy."
        )
    augmentation = saved.policy.augmentation(kinds).requires_grad_()
    restored = restore_net(saved, net)
    options: dict[str, Any] = {**counts, "average": AVERAGES[config["average"]]}
    if config["kind"] == "InvariantModel":
        return InvariantModel(restored, augmentation, **options).eval()
    if config.get("action") is not None:
        action_policy = Policy({**saved.policy.data, "transform": config["action"]})
        options["action"] = action_policy.augmentation(kinds).transform
    return EquivariantModel(restored, augmentation, **options).eval()


def _is_valid(config: Mapping[str, Any], counts: Mapping[str, Any]) -> bool:
    whole = all(
        isinstance(value, int) or (name == "chunk" and value is None)
        for name, value in counts.items()
    )
    known_kind = config.get("kind") in ("InvariantModel", "EquivariantModel")
    return whole and known_kind and str(config.get("average")) in AVERAGES


def save(folder: str | Path, config: Mapping[str, Any], policy: Policy, net: nn.Module) -> None:
    """Writes a folder; one that holds something else is left alone."""
    from safetensors.torch import save as serialize

    path = Path(folder)
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())) and not _is_ours(path):
            raise InputError(
                f"{path} exists already and holds something else than a saved model: choose another folder."
            )
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot make the folder {path}: {error.strerror or error}. Choose another one."
        ) from error
    weights = {
        name: value.detach().cpu().clone().contiguous() for name, value in net.state_dict().items()
    }
    content = serialize(weights)
    head = {"format": "augerino-pretrained", "version": VERSION, **config, "net": describe(net)}
    files.write_atomically(path / "model.safetensors", content)
    policy.save(path / "policy.json")
    files.write_json(
        path / "config.json", {**head, "weights_sha256": hashlib.sha256(content).hexdigest()}
    )


def load(folder: str | Path) -> Pretrained:
    """Reads a folder that `save` wrote, on the CPU."""
    from safetensors import SafetensorError
    from safetensors.torch import load as deserialize

    path = Path(folder)
    if not (path / "config.json").is_file():
        raise InputError(
            f"{path} is not a folder that save_pretrained wrote: it has no config.json."
        )
    config = files.read_json(path / "config.json", "model configuration")
    if not isinstance(config, dict) or config.get("format") != "augerino-pretrained":
        raise InputError(
            f"{path / 'config.json'} is JSON, but not the configuration of a saved model."
        )
    if config.get("version") != VERSION:
        raise InputError(
            f"{path} is a saved model of version {config.get('version')}, "
            f"but this augerino reads version {VERSION}: update augerino."
        )
    try:
        content = (path / "model.safetensors").read_bytes()
        weights = deserialize(content)
    except OSError as error:
        raise InputError(
            f"Cannot read the weights {path / 'model.safetensors'}: {error.strerror or error}."
        ) from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path / 'model.safetensors'} is not readable: {error}. Restore it from a copy."
        ) from error
    if hashlib.sha256(content).hexdigest() != config.get("weights_sha256"):
        raise InputError(
            f"{path / 'model.safetensors'} is not the file that config.json was written with: restore both from a copy."
        )
    return Pretrained(path, config, Policy.load(path / "policy.json"), weights)


def restore_net(saved: Pretrained, net: nn.Module | None) -> nn.Module:
    """The network with its weights: the one given, or one rebuilt from its description."""
    net = _build(saved) if net is None else net
    gap = first_mismatch(net.state_dict(), saved.weights)
    if gap is not None:
        raise InputError(f"The network does not fit the weights of {saved.folder}: {gap}.")
    for name, value in net.state_dict(keep_vars=True).items():
        value.data = value.data.to(saved.weights[name].dtype)
    net.load_state_dict(dict(saved.weights))
    return net


def describe(net: nn.Module) -> dict[str, Any]:
    """What is needed to build a network anew: a built-in one's settings, or a timm one's name."""
    for name, kind in BUILT_IN.items():
        if type(net) is kind:
            return {"kind": name, "settings": net.settings()}  # type: ignore[operator]
    return _describe_timm(net) or {
        "kind": "other",
        "class": f"{type(net).__module__}.{type(net).__qualname__}",
    }


def _build(saved: Pretrained) -> nn.Module:
    description = saved.config.get("net")
    if not isinstance(description, dict) or not isinstance(description.get("settings", {}), dict):
        raise InputError(
            f"{saved.folder / 'config.json'} does not describe a network: restore it from a copy."
        )
    kind, settings = str(description.get("kind")), description.get("settings", {})
    if kind == "timm":
        return _build_timm(str(description.get("name")), settings, saved.folder)
    if kind not in BUILT_IN:
        known = str(description.get("class", kind))[:200]
        raise InputError(
            f"The network of {saved.folder} ({known}) is not one of augerino's or timm's: build it and pass it, "
            "as in from_pretrained(folder, net=Net())."
        )
    try:
        with torch.device("meta"):  # costs nothing, however large the numbers in the file are
            gap = first_mismatch(BUILT_IN[kind](**settings).state_dict(), saved.weights)
        if gap is None:
            return BUILT_IN[kind](**settings)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        gap = str(error).splitlines()[0]
    raise InputError(
        f"{saved.folder / 'config.json'} describes a {kind} that does not fit the weights: {gap}."
    )


def _is_ours(path: Path) -> bool:
    try:
        config = files.read_json(path / "config.json", "model configuration")
    except InputError:
        return False
    return isinstance(config, dict) and config.get("format") == "augerino-pretrained"


def _describe_timm(net: nn.Module) -> dict[str, Any] | None:
    """A timm network by name, if that name rebuilds it: one made with options that a name does not tell has to be passed."""
    config: Any = getattr(net, "pretrained_cfg", None)
    if "timm" not in sys.modules or not isinstance(config, Mapping) or "architecture" not in config:
        return None
    first: Any = config.get("first_conv")
    try:
        layer: Any = net.get_submodule(first if isinstance(first, str) else first[0])
        settings = {"num_classes": int(net.num_classes), "in_chans": int(layer.weight.shape[1])}  # type: ignore[arg-type]
        again = sys.modules["timm"].create_model(
            config["architecture"], pretrained=False, **settings
        )
    except (AttributeError, TypeError, IndexError, RuntimeError, ValueError):
        return None
    if str(again) != str(net) or first_mismatch(again.state_dict(), net.state_dict()) is not None:
        return None
    return {"kind": "timm", "name": config["architecture"], "settings": settings}


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
            f"timm has no model '{name[:200]}', which {folder} names: update timm, or pass net=."
        )
    if not all(
        key in ("num_classes", "in_chans") and isinstance(value, int)
        for key, value in settings.items()
    ):
        raise InputError(
            f"{folder / 'config.json'} gives {name} settings other than num_classes and in_chans."
        )
    try:
        return timm.create_model(name, pretrained=False, **settings)
    except (TypeError, ValueError, RuntimeError, ArithmeticError) as error:
        raise InputError(
            f"timm cannot build {name} as {folder} describes it: {str(error).splitlines()[0]}"
        ) from error
