"""A trained model as a folder of model.safetensors, policy.json and config.json.

Loading executes nothing from the folder.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.models import AVERAGES, EquivariantModel, InvariantModel
from augerino.nets.weights import first_mismatch
from augerino.runtime import files
from augerino.saving import networks
from augerino.saving.policy import Policy

VERSION = 1
FORMAT = "augerino-pretrained"


@dataclass(frozen=True)
class Pretrained:
    """The content of a folder: settings, learned augmentation and weights of the network."""

    folder: Path
    config: Mapping[str, Any]
    policy: Policy
    weights: Mapping[str, Tensor]


def save_pretrained(
    model: InvariantModel, folder: str | Path, *, example: Tensor | None = None
) -> None:
    """Writes a model to a folder: weights as safetensors, augmentation as policy, settings as JSON.

    An earlier save is replaced. A folder with other content is left untouched and rejected.

    Args:
        model: the averaged model.
        folder: target folder; it is created if necessary.
        example: a batch of inputs, whose shape and dtype are recorded.
    """
    from safetensors.torch import save as serialize

    config = _config_of(model, example)
    policy = Policy.of(model.augmentation)
    path = _prepare_folder(folder)
    weights = {}
    for name, value in model.net.state_dict().items():
        weights[name] = value.detach().cpu().clone().contiguous()
    content = serialize(weights)
    config["weights_sha256"] = hashlib.sha256(content).hexdigest()
    files.write_atomically(path / "model.safetensors", content)
    policy.save(path / "policy.json")
    files.write_json(path / "config.json", config)


def _config_of(model: InvariantModel, example: Tensor | None) -> dict[str, Any]:
    if model.average not in AVERAGES.values():
        raise InputError(
            f"The averaging rule '{model.average.name}' is custom, which a file cannot store: "
            f"use {', '.join(AVERAGES)}."
        )
    augmentation = model.augmentation
    action = getattr(model, "action", augmentation.transform)
    action_data = None
    if action is not augmentation.transform:
        action_policy = Policy.of(Augmentation(action, augmentation.distribution))
        action_data = action_policy.data["transform"]
    example_data = None
    kind = "InvariantModel"
    if model.moves_outputs:
        kind = "EquivariantModel"
    if example is not None:
        dtype = str(example.dtype).removeprefix("torch.")
        example_data = {"shape": list(example.shape[1:]), "dtype": dtype}
    return {
        "format": FORMAT,
        "version": VERSION,
        "kind": kind,
        "average": model.average.name,
        "train_copies": model.train_copies,
        "test_copies": model.test_copies,
        "chunk": model.chunk,
        "action": action_data,
        "input": example_data,
        "net": networks.describe(model.net),
    }


def _prepare_folder(folder: str | Path) -> Path:
    """Creates the folder; rejects one with any content other than an earlier save."""
    path = Path(folder)
    try:
        is_taken = path.exists() and (not path.is_dir() or any(path.iterdir()))
        if is_taken and not _is_saved_model(path):
            raise InputError(
                f"{path} already exists and is not a saved model: choose another folder."
            )
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot create the folder {path}: {error.strerror or error}. Choose another one."
        ) from error
    return path


def _is_saved_model(path: Path) -> bool:
    try:
        config = files.read_json(path / "config.json", "model configuration")
    except InputError:
        return False
    return isinstance(config, dict) and config.get("format") == FORMAT


def from_pretrained(
    folder: str | Path,
    net: nn.Module | None = None,
    *,
    kinds: Mapping[str, type[nn.Module]] | None = None,
) -> InvariantModel:
    """Loads a model that `save_pretrained` wrote, in evaluation mode.

    Executes nothing from the folder.

    Args:
        folder: the folder.
        net: the network to load the weights into; not needed for the networks of augerino and timm.
        kinds: your own transforms and distributions by name, as in `Policy.augmentation`.
    """
    saved = load(folder)
    config = saved.config
    _validate_config(saved)
    augmentation = saved.policy.augmentation(kinds).requires_grad_()
    restored = _restore_net(saved, net)
    options: dict[str, Any] = {
        "train_copies": config["train_copies"],
        "test_copies": config["test_copies"],
        "chunk": config.get("chunk"),
        "average": AVERAGES[config["average"]],
    }
    if config["kind"] == "InvariantModel":
        return InvariantModel(restored, augmentation, **options).eval()
    if config.get("action") is not None:
        action_policy = Policy({**saved.policy.data, "transform": config["action"]})
        options["action"] = action_policy.augmentation(kinds).transform
    return EquivariantModel(restored, augmentation, **options).eval()


def _validate_config(saved: Pretrained) -> None:
    config = saved.config
    is_valid = (
        config.get("kind") in ("InvariantModel", "EquivariantModel")
        and str(config.get("average")) in AVERAGES
        and isinstance(config.get("train_copies"), int)
        and isinstance(config.get("test_copies"), int)
        and isinstance(config.get("chunk"), int | None)
    )
    if not is_valid:
        raise InputError(
            f"{saved.folder / 'config.json'} does not hold the settings of a model: "
            "restore it from a copy."
        )


def load(folder: str | Path) -> Pretrained:
    """Reads the files that `save_pretrained` wrote, without building the model."""
    path = Path(folder)
    config_path = path / "config.json"
    weights_path = path / "model.safetensors"
    if not config_path.is_file():
        raise InputError(
            f"{path} is not a folder that save_pretrained wrote: it has no config.json."
        )
    config = files.read_json(config_path, "model configuration")
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{config_path} is JSON, but not the configuration of a saved model.")
    if config.get("version") != VERSION:
        raise InputError(
            f"{path} is a saved model of version {config.get('version')}, "
            f"but this augerino reads version {VERSION}: update augerino."
        )
    content, weights = _read_weights(weights_path)
    if hashlib.sha256(content).hexdigest() != config.get("weights_sha256"):
        raise InputError(
            f"{weights_path} does not belong to config.json: restore both from a copy."
        )
    return Pretrained(
        folder=path,
        config=config,
        policy=Policy.load(path / "policy.json"),
        weights=weights,
    )


def _read_weights(path: Path) -> tuple[bytes, dict[str, Tensor]]:
    from safetensors import SafetensorError
    from safetensors.torch import load as deserialize

    try:
        content = files.read_bytes(path, files.LARGEST_WEIGHTS)
        return content, deserialize(content)
    except OSError as error:
        raise InputError(f"Cannot read the weights {path}: {error.strerror or error}.") from error
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not readable: {error}. Restore it from a copy.") from error


def _restore_net(saved: Pretrained, net: nn.Module | None) -> nn.Module:
    """The given network, or one rebuilt from its description, with the saved weights."""
    if net is None:
        net = networks.build(saved.config.get("net"), saved.weights, saved.folder)
    mismatch = first_mismatch(net.state_dict(), saved.weights)
    if mismatch is not None:
        raise InputError(f"The network does not fit the weights of {saved.folder}: {mismatch}.")
    for name, value in net.state_dict(keep_vars=True).items():
        value.data = value.data.to(saved.weights[name].dtype)
    net.load_state_dict(dict(saved.weights))
    return net
