"""What suits a kind of data unless somebody says otherwise: augmentation, network, loss."""

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn

from augerino import models, tree
from augerino.augmentation import Augmentation, Chain
from augerino.data.arrays import IGNORE, Kind, Task
from augerino.distributions import Bernoulli, Uniform
from augerino.errors import InputError
from augerino.learning.recipe import Recipe
from augerino.nets import fc_densenet
from augerino.nets.layer13 import Layer13
from augerino.nets.lieconv import LieResNet
from augerino.nets.points import SmallPointNet
from augerino.nets.signal import SmallSignalNet
from augerino.nets.small import SmallCNN
from augerino.nets.unet import SmallUNet
from augerino.transforms import (
    Affine2d,
    Affine3d,
    Brightness,
    Compose,
    Contrast,
    Flip,
    Gain,
    Identity,
    NoiseLevel,
    On,
    TimeScale,
    TimeShift,
    Transform,
)
from augerino.transforms.base import choose


@dataclass(frozen=True)
class _Group:
    """A transform that takes coordinate names, or single ones; and which coordinates are learned unless told."""

    make: Callable[..., Transform]
    names: tuple[str, ...]
    usual: tuple[str, ...]

    def transform(self, chosen: Sequence[str]) -> Transform:
        return self.make(*chosen) if len(self.names) > 1 else self.make()


def _group(make: Callable[..., Transform], *usual: str) -> _Group:
    names = make().names
    return _Group(make, names, usual or names)


_AFFINE2D = _group(Affine2d, "translate_x", "translate_y", "rotate", "scale")
_AFFINE3D = _Group(
    Affine3d,
    (*Affine3d().names, "shear_xy", "shear_yz", "shear_xz"),
    (
        "rotate_x",
        "rotate_y",
        "rotate_z",
        "scale",
    ),  # clouds are usually centred, and then a shift tells nothing
)
_IMAGES = {
    "affine": (_AFFINE2D,),
    "flip": (_group(Flip),),
    "color": (_group(Brightness), _group(Contrast)),
}
#: The groups of transforms for each kind of data; the first is learned by default, and for signals what `_USUAL` says.
GROUPS: dict[Kind, dict[str, tuple[_Group, ...]]] = {
    "images": _IMAGES,
    "masks": _IMAGES,
    "points": {"affine": (_AFFINE3D,)},
    "signals": {
        "time": (_group(TimeShift), _group(TimeScale)),
        "gain": (_group(Gain),),
        "noise": (_group(NoiseLevel),),
    },
    "values": {},
}
# A stretch and a shift share the room up to the end of a signal, and noise is seldom a symmetry: those are learned when named.
_USUAL: dict[Kind, tuple[str, ...]] = {"signals": ("time_shift", "gain")}


def kind_of(x: Any, y: Tensor) -> Kind:
    """What a batch of inputs is, by its shape: (B, C, H, W) images, (B, P, 3) points, (B, C, T) signals."""
    if not isinstance(x, Tensor):
        return "points" if isinstance(x, dict) and "positions" in x else "values"
    if x.dim() == 4:
        return "masks" if not y.is_floating_point() and y.dim() == 3 else "images"
    if x.dim() == 3:
        return "points" if x.shape[-1] == 3 else "signals"
    return "values"


def check_channels(x: Any) -> None:
    """Refuses images whose channels come last: a network built for them would take their rows for channels."""
    if isinstance(x, Tensor) and x.dim() == 4 and x.shape[3] in (1, 3, 4) and min(x.shape[1:3]) > 4:
        shape = tuple(x.shape[1:])
        raise InputError(
            f"Images come as (C, H, W), but these, {shape}, look like (H, W, C): give x.permute(0, 3, 1, 2)."
        )


def check_intensities(x: Any, names: Sequence[str]) -> None:
    """Refuses images that brightness or contrast would clip: both are for intensities in [0, 1]."""
    color = [name for name in names if name in ("brightness", "contrast")]
    if (
        color
        and isinstance(x, Tensor)
        and x.dim() == 4
        and not (x.min() >= -0.01 and x.max() <= 1.01)
    ):
        raise InputError(
            f"To learn {' and '.join(color)}, intensities must lie in [0, 1], but reach from {x.min():.4g} to {x.max():.4g}: "
            "rescale the images, and normalise inside the network."
        )


def task_of(y: Tensor) -> Task:
    """Floats are a regression, integers classes: one an input, or one a pixel."""
    if y.is_floating_point():
        return "regression"
    return "segmentation" if y.dim() == 3 else "classification"


def default_augmentation(recipe: Recipe, kind: Kind = "images", x: Any = None) -> Augmentation:
    """The recipe's transforms for a kind of data, every coordinate from the same start.

    A flip starts at the probability whose extent is that start. A coordinate without a limit is in the data's own unit, so its
    start is scaled by how widely the data are spread.

    Args:
        recipe: names groups, coordinates and start.
        kind: of data.
        x: a batch of it, for the unit of coordinates without a limit.
    """
    parts = []
    for group, names in _chosen(recipe, kind):
        transform = group.transform(names)
        if transform.coordinates[0].discrete:
            parts.append(
                Augmentation(transform, Bernoulli([min(recipe.start / 2, 0.49)] * len(names)))
            )
            continue
        for coordinate in transform.coordinates:
            if recipe.start > coordinate.limit:
                raise InputError(
                    f"The start of {recipe.start:g} is beyond the limit of {coordinate.name}, "
                    f"{coordinate.limit:g}: start nearer to 0."
                )
        starts = [
            recipe.start * (1.0 if math.isfinite(coordinate.limit) else _scale(x))
            for coordinate in transform.coordinates
        ]
        lens = (
            transform
            if not isinstance(x, dict)
            else On("positions", transform, where="mask" if "mask" in x else None)
        )
        parts.append(Augmentation(lens, Uniform(starts)))
    return parts[0] if len(parts) == 1 else Chain(*parts)


def _chosen(recipe: Recipe, kind: Kind) -> list[tuple[_Group, tuple[str, ...]]]:
    """The transforms to learn and the coordinates of each."""
    groups = GROUPS[kind]
    if not groups:
        raise InputError(
            f"There is no transformation to propose for inputs that are {kind}: pass an augmentation of your own."
        )
    for name in recipe.transforms:
        if name not in groups:
            raise InputError(
                f"There is no group of transforms '{name}' for {kind}. There are: {', '.join(groups)}."
            )
    coordinates = recipe.coordinates or (() if recipe.transforms else _USUAL.get(kind, ()))
    named = recipe.transforms or (tuple(groups) if coordinates else tuple(groups)[:1])
    parts = [part for group in groups if group in named for part in groups[group]]
    known = [name for part in parts for name in part.names]
    wanted = choose(coordinates, known, f"The transformation of {kind}") if coordinates else ()
    picked = [
        (part, tuple(n for n in wanted if n in part.names) if wanted else part.usual)
        for part in parts
    ]
    return [(part, names) for part, names in picked if names]


def no_augmentation() -> Augmentation:
    """The empty chain: nothing is done and nothing is learned, for a baseline that runs through the same loop."""
    return Augmentation(Compose([]), Uniform([])).requires_grad_(False)


def _scale(x: Any) -> float:
    if x is None:
        return 1.0
    positions = next(tree.leaves(x["positions"] if isinstance(x, dict) else x))
    if isinstance(x, dict) and "mask" in x:
        positions = positions[x["mask"].bool()]
    return float(positions.std()) or 1.0


def output_action(transform: Transform) -> Transform:
    """How label maps answer to a transform of images: they follow it in space and take no notice of color."""
    parts: list[Any] = list(transform.parts) if isinstance(transform, Compose) else [transform]
    acting = [Identity(part) if isinstance(part, Brightness | Contrast) else part for part in parts]
    return acting[0] if len(acting) == 1 else Compose(acting)


def masked_nll(prediction: Tensor, y: Tensor) -> Tensor:
    """The mean loss over the pixels that count; 0 where none does."""
    total = F.nll_loss(prediction, y, ignore_index=IGNORE, reduction="sum")
    return total / (y != IGNORE).sum().clamp_min(1)


_LOSSES: dict[Task, tuple[Callable[[Any, Any], Tensor], models.Average]] = {
    "classification": (F.nll_loss, models.mean_log_prob),
    "regression": (F.mse_loss, models.mean),
    "segmentation": (masked_nll, models.mean_log_prob),
}


def default_model(
    net: nn.Module, augmentation: Augmentation, task: Task, recipe: Recipe
) -> tuple[models.InvariantModel, Callable[[Any, Any], Tensor]]:
    """The averaged model for a task, and its loss: label maps come back through the inverse, all else is invariant."""
    loss, average = _LOSSES[task]
    options: dict[str, Any] = {
        "train_copies": recipe.train_copies,
        "test_copies": recipe.test_copies,
        "average": average,
    }
    if task == "segmentation":
        return models.EquivariantModel(
            net, augmentation, action=output_action(augmentation.transform), **options
        ), loss
    return models.InvariantModel(net, augmentation, **options), loss


def default_net(name: str, kind: Kind, x: Any, n_outputs: int, width: int) -> nn.Module:
    """A network by name: "auto" or "small" for ours, "layer13" and "fc_densenet67" for the paper's, a name of timm's, or
    "package.module:function".

    Such a function is called with the number of channels (or values) of an input and the number of outputs.
    """
    channels = x.shape[1] if isinstance(x, Tensor) else 0
    if name in ("auto", "small"):
        return _small_net(kind, x, channels, n_outputs, width)
    if name == "layer13":
        if kind != "images":
            raise InputError(
                f"The network 'layer13' takes images, but the inputs are {kind}: use --net auto."
            )
        return Layer13(channels, n_outputs, width)
    if name in fc_densenet.NAMED:
        if kind != "masks":
            raise InputError(
                f"The network '{name}' labels pixels, but the targets are no masks: use --net auto."
            )
        return fc_densenet.NAMED[name](channels, n_outputs)
    if ":" in name:
        return _imported(name, channels, n_outputs)
    return _timm(name, channels, n_outputs)


def _small_net(kind: Kind, x: Any, channels: int, n_outputs: int, width: int) -> nn.Module:
    if kind == "images":
        return SmallCNN(channels, n_outputs, width)
    if kind == "masks":
        return SmallUNet(channels, n_outputs, width)
    if kind == "signals":
        return SmallSignalNet(channels, n_outputs, width)
    if kind == "points" and isinstance(x, dict) and "charges" in x:
        # Blind to nothing, so that what it is blind to in the end has been learned; for every element, since this is a sample.
        return LieResNet(
            n_outputs,
            group="trivial",
            width=8 * width,
            layers=3,
            species=range(119),
            kernel_width=16,
        )
    if kind == "points":
        return SmallPointNet(n_outputs, 2 * width, features=_features(x))
    got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
    raise InputError(
        f"A network is built for images, signals and point clouds, but the inputs are {got}: pass a net of your own."
    )


def _features(x: Any) -> int:
    features = x.get("features") if isinstance(x, dict) else None
    return 0 if features is None else int(features.shape[-1])


def _imported(name: str, channels: int, n_outputs: int) -> nn.Module:
    module, _, function = name.partition(":")
    try:
        net = getattr(importlib.import_module(module), function)(channels, n_outputs)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"The network '{name}' cannot be made: {error}. It must name a function of (channels, n_outputs) that can be imported."
        ) from error
    if not isinstance(net, nn.Module):
        raise InputError(
            f"'{name}' returned a {type(net).__name__}, but must return a torch module."
        )
    return net


def _timm(name: str, channels: int, n_outputs: int) -> nn.Module:
    try:
        import timm
    except (ImportError, RuntimeError) as error:
        raise InputError(
            f"There is no network '{name}': there are auto, small and layer13, for masks {', '.join(fc_densenet.NAMED)}, "
            "'package.module:function', and timm's names, which need pip install \"augerino[timm]\"."
        ) from error
    if name.partition(".")[0] not in timm.list_models():
        raise InputError(f"timm has no network '{name}'; `timm.list_models()` names them.")
    return timm.create_model(name, pretrained=False, in_chans=channels, num_classes=n_outputs)
