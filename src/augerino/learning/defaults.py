"""Default augmentation, network and loss for each kind of data."""

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
    AutoContrast,
    Brightness,
    Compose,
    Contrast,
    Equalize,
    Erase,
    Flip,
    Gain,
    Gamma,
    Grayscale,
    Hue,
    Identity,
    NoiseLevel,
    On,
    PhotometricTransform,
    PixelNoise,
    PixelShift,
    Posterize,
    Saturation,
    Sharpness,
    Solarize,
    TimeScale,
    TimeShift,
    Transform,
)
from augerino.transforms.base import choose


@dataclass(frozen=True)
class _Group:
    """A transform class with its coordinates.

    Args:
        make: the class, called with coordinate names if there are several.
        names: all coordinates.
        usual: coordinates that are learned by default.
    """

    make: Callable[..., Transform]
    names: tuple[str, ...]
    usual: tuple[str, ...]

    def transform(self, chosen: Sequence[str]) -> Transform:
        """Builds the transform with the chosen coordinates."""
        if len(self.names) == 1:
            return self.make()
        return self.make(*chosen)


def _group(make: Callable[..., Transform], *usual: str) -> _Group:
    names = make().names
    return _Group(make, names, usual or names)


_AFFINE2D = _group(Affine2d, "translate_x", "translate_y", "rotate", "scale")
_AFFINE3D = _Group(
    Affine3d,
    names=(*Affine3d().names, "shear_xy", "shear_yz", "shear_xz"),
    # No translation: point clouds are usually centred.
    usual=("rotate_x", "rotate_y", "rotate_z", "scale"),
)
_IMAGES = {
    "affine": (_AFFINE2D,),
    "flip": (_group(Flip),),
    "color": (_group(Brightness), _group(Contrast)),
    "shift": (_group(PixelShift),),
    "photometric": (
        _group(Saturation),
        _group(Hue),
        _group(Gamma),
        _group(Sharpness),
        _group(AutoContrast),
        _group(Equalize),
        _group(Solarize),
        _group(Posterize),
        _group(Grayscale),
    ),
    "occlusion": (_group(Erase), _group(PixelNoise)),
}
# Coordinates of intensities, which are clipped to [0, 1].
_INTENSITIES = tuple(
    name
    for group in ("color", "photometric", "occlusion")
    for part in _IMAGES[group]
    for name in part.names
)
_CHROMA = ("saturation", "hue", "grayscale")  # without effect on images with one channel
#: Groups of transforms for each kind of data. By default the first group is learned, or the
#: coordinates in `_USUAL`.
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
# time_scale and noise are learned only on request: a scaled signal leaves no margin for a shift,
# and noise is seldom a symmetry.
_USUAL: dict[Kind, tuple[str, ...]] = {"signals": ("time_shift", "gain")}


def kind_of(x: Any, y: Tensor) -> Kind:
    """Infers the kind of data from a batch of inputs and targets.

    Images are (B, C, H, W), points (B, P, 3) or a dict with "positions", signals (B, C, T).
    Images with integer targets (B, H, W) are "masks".
    """
    if not isinstance(x, Tensor):
        has_positions = isinstance(x, dict) and "positions" in x
        return "points" if has_positions else "values"
    if x.dim() == 4:
        return "masks" if task_of(y) == "segmentation" else "images"
    if x.dim() == 3:
        return "points" if x.shape[-1] == 3 else "signals"
    return "values"


def check_channels(x: Any) -> None:
    """Rejects images whose channels are last; a network would treat their rows as channels."""
    if not isinstance(x, Tensor) or x.dim() != 4:
        return
    if x.shape[3] in (1, 3, 4) and min(x.shape[1:3]) > 4:
        raise InputError(
            f"Images must be (C, H, W), but these, {tuple(x.shape[1:])}, look like (H, W, C): "
            "give x.permute(0, 3, 1, 2)."
        )


def check_intensities(x: Any, names: Sequence[str]) -> None:
    """Rejects images outside [0, 1] if a coordinate of intensities is learned: these clip."""
    color = [name for name in names if name in _INTENSITIES]
    if not color or not isinstance(x, Tensor) or x.dim() != 4:
        return
    if not (x.min() >= -0.01 and x.max() <= 1.01):
        raise InputError(
            f"To learn {_listed(color)}, intensities must lie in [0, 1], but reach from "
            f"{x.min():.4g} to {x.max():.4g}: rescale the images, and normalise inside the network."
        )


def _listed(names: Sequence[str]) -> str:
    """Joins names as in "a, b and c"."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def task_of(y: Tensor) -> Task:
    """Regression for floating-point targets, segmentation for integers (B, H, W), else classes."""
    if y.is_floating_point():
        return "regression"
    return "segmentation" if y.dim() == 3 else "classification"


def default_augmentation(recipe: Recipe, kind: Kind = "images", x: Any = None) -> Augmentation:
    """The recipe's transforms for a kind of data, with the same start for every coordinate.

    A flip starts at the probability whose extent is that start. A coordinate without a limit has
    the unit of the data, so its start is multiplied by the standard deviation of the data.

    Args:
        recipe: groups, coordinates and start.
        kind: kind of data.
        x: batch of inputs, for the scale of coordinates without a limit.
    """
    parts = []
    for group, names in _chosen(recipe, kind, is_grey=_is_grey(x, kind)):
        transform = group.transform(names)
        if transform.coordinates[0].discrete:
            probability = min(recipe.start / 2, 0.49)
            parts.append(Augmentation(transform, Bernoulli([probability] * len(names))))
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
        parts.append(Augmentation(on_positions(transform, x), Uniform(starts)))
    return parts[0] if len(parts) == 1 else Chain(*parts)


def _is_grey(x: Any, kind: Kind) -> bool:
    """Whether the inputs are images with one channel."""
    return kind in ("images", "masks") and isinstance(x, Tensor) and x.shape[1] == 1


def on_positions(transform: Transform, x: Any) -> Transform:
    """The transform of the positions, if x is a batch of padded point clouds; else itself."""
    if not isinstance(x, dict):
        return transform
    return On("positions", transform, where="mask" if "mask" in x else None)


def _chosen(
    recipe: Recipe, kind: Kind, *, is_grey: bool = False
) -> list[tuple[_Group, tuple[str, ...]]]:
    """Transforms to learn, each with its coordinates; for grey images without those of colour."""
    groups = GROUPS[kind]
    if not groups:
        raise InputError(
            f"There is no default augmentation for inputs that are {kind}: "
            "pass an augmentation of your own."
        )
    for name in recipe.transforms:
        if name not in groups:
            raise InputError(
                f"There is no group of transforms '{name}' for {kind}. "
                f"There are: {', '.join(groups)}."
            )
    coordinates = recipe.coordinates
    group_names = recipe.transforms or tuple(groups)
    if not recipe.coordinates and not recipe.transforms:
        coordinates = _USUAL.get(kind, ())
        if not coordinates:
            group_names = group_names[:1]
    parts = [part for name in groups if name in group_names for part in groups[name]]
    if not coordinates:
        return [(part, part.usual) for part in parts if not (is_grey and part.names[0] in _CHROMA)]
    for name in coordinates:
        if is_grey and name in _CHROMA:
            raise InputError(
                f"'{name}' changes colour, but the images have one channel: leave it out."
            )
    known = [name for part in parts for name in part.names]
    chosen = choose(coordinates, known, f"The transformation of {kind}")
    picked = [(part, tuple(name for name in chosen if name in part.names)) for part in parts]
    return [(part, names) for part, names in picked if names]


def no_augmentation() -> Augmentation:
    """Identity without coordinates, so that a baseline uses the same training loop."""
    return Augmentation(Compose([]), Uniform([])).requires_grad_(False)


def _scale(x: Any) -> float:
    """Standard deviation of the inputs or, for point clouds, of the positions."""
    if x is None:
        return 1.0
    positions = next(tree.leaves(x["positions"] if isinstance(x, dict) else x))
    if isinstance(x, dict) and "mask" in x:
        positions = positions[x["mask"].bool()]
    return float(positions.std()) or 1.0


def output_action(transform: Transform) -> Transform:
    """Transform of label maps: the spatial parts of a transform of images, without intensities."""
    parts: list[Any] = list(transform.parts) if isinstance(transform, Compose) else [transform]
    still = (Brightness, Contrast, PhotometricTransform)
    acting = [Identity(part) if isinstance(part, still) else part for part in parts]
    return acting[0] if len(acting) == 1 else Compose(acting)


def masked_nll(prediction: Tensor, y: Tensor) -> Tensor:
    """Mean negative log-likelihood of the pixels that are not ignored; 0 if there are none."""
    total = F.nll_loss(prediction, y, ignore_index=IGNORE, reduction="sum")
    return total / (y != IGNORE).sum().clamp_min(1)


_LOSSES: dict[Task, tuple[Callable[[Any, Any], Tensor], models.Average]] = {
    "classification": (F.nll_loss, models.mean_log_prob),
    "regression": (F.mse_loss, models.mean),
    "segmentation": (masked_nll, models.mean_log_prob),
}


def default_model(
    net: nn.Module, augmentation: Augmentation, *, task: Task, recipe: Recipe
) -> tuple[models.InvariantModel, Callable[[Any, Any], Tensor]]:
    """Averaged model and loss for a task: equivariant for segmentation, else invariant."""
    loss, average = _LOSSES[task]
    options: dict[str, Any] = {
        "train_copies": recipe.train_copies,
        "test_copies": recipe.test_copies,
        "average": average,
    }
    if task == "segmentation":
        action = output_action(augmentation.transform)
        return models.EquivariantModel(net, augmentation, action=action, **options), loss
    return models.InvariantModel(net, augmentation, **options), loss


def default_net(name: str, *, kind: Kind, x: Any, n_outputs: int, width: int) -> nn.Module:
    """Builds a network by name.

    Args:
        name: "auto" or "small" for a small network, "layer13" or "fc_densenet67" as in the paper,
            a timm model, or "package.module:function". The function is called with the number of
            input channels (or values) and the number of outputs.
        kind: kind of data.
        x: batch of inputs.
        n_outputs: number of outputs.
        width: channels of the first layer.
    """
    channels = x.shape[1] if isinstance(x, Tensor) else 0
    if name in ("auto", "small"):
        return _small_net(kind=kind, x=x, n_outputs=n_outputs, width=width)
    if name == "layer13":
        if kind != "images":
            raise InputError(
                f"The network 'layer13' takes images, but the inputs are {kind}: use --net auto."
            )
        return Layer13(channels, n_outputs, width)
    if name in fc_densenet.NAMED:
        if kind != "masks":
            raise InputError(
                f"The network '{name}' labels pixels, but the targets are not masks: "
                "use --net auto."
            )
        return fc_densenet.NAMED[name](channels, n_outputs)
    if ":" in name:
        return _imported(name, channels, n_outputs)
    return _timm(name, channels, n_outputs)


def _small_net(*, kind: Kind, x: Any, n_outputs: int, width: int) -> nn.Module:
    channels = x.shape[1] if isinstance(x, Tensor) else 0
    if kind == "images":
        return SmallCNN(channels, n_outputs, width)
    if kind == "masks":
        return SmallUNet(channels, n_outputs, width)
    if kind == "signals":
        return SmallSignalNet(channels, n_outputs, width)
    if kind == "points" and isinstance(x, dict) and "charges" in x:
        # The trivial group has no built-in invariance, so any invariance is learned. All elements
        # are allowed, because x may not contain every one.
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
        f"There is a default network for images, signals and point clouds, "
        f"but the inputs are {got}: pass a net of your own."
    )


def _features(x: Any) -> int:
    """Number of features per point."""
    features = x.get("features") if isinstance(x, dict) else None
    return 0 if features is None else int(features.shape[-1])


def _imported(name: str, channels: int, n_outputs: int) -> nn.Module:
    module, _, function = name.partition(":")
    try:
        net = getattr(importlib.import_module(module), function)(channels, n_outputs)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise InputError(
            f"The network '{name}' cannot be built: {error}. "
            "It must name an importable function of (channels, n_outputs)."
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
            f"There is no network '{name}': there are auto, small and layer13, for masks "
            f"{', '.join(fc_densenet.NAMED)}, 'package.module:function', and timm's names, "
            'which need pip install "augerino[timm]".'
        ) from error
    if name.partition(".")[0] not in timm.list_models():
        raise InputError(f"timm has no network '{name}'; `timm.list_models()` lists them.")
    return timm.create_model(name, pretrained=False, in_chans=channels, num_classes=n_outputs)
