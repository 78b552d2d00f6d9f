"""A learned augmentation as data: versioned, readable JSON that restores it bit for bit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from augerino import distributions, transforms
from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.runtime import files
from augerino.saving.sentence import sentence

VERSION = 1

_DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
}
_POLICY_FIELDS = {"format", "version", "summary", "transform", "distribution"}
_MODULE_FIELDS = {"kind", "settings", "dtype", "parameters"}
_RESTORE = "Restore it from a copy or learn it again."

#: The built-in transforms and distributions that a policy can hold, by class name.
KINDS: dict[str, type[nn.Module]] = {
    kind.__name__: kind
    for kind in (
        transforms.Affine2d,
        transforms.Affine3d,
        transforms.AutoContrast,
        transforms.Boxes,
        transforms.Brightness,
        transforms.Compose,
        transforms.Contrast,
        transforms.Equalize,
        transforms.Erase,
        transforms.Flip,
        transforms.Gain,
        transforms.Gamma,
        transforms.Grayscale,
        transforms.Hue,
        transforms.Identity,
        transforms.Keypoints,
        transforms.LabelMap,
        transforms.NoiseLevel,
        transforms.On,
        transforms.PixelNoise,
        transforms.PixelShift,
        transforms.Posterize,
        transforms.RotoTranslate2d,
        transforms.Saturation,
        transforms.Sharpness,
        transforms.Solarize,
        transforms.TimeScale,
        transforms.TimeShift,
        transforms.VectorField,
        transforms.Vectors,
        distributions.Bernoulli,
        distributions.Gaussian,
        distributions.Haar,
        distributions.Interval,
        distributions.Product,
        distributions.Uniform,
    )
}


@dataclass(frozen=True)
class Policy:
    """An augmentation as plain data.

    `settings` hold real units, for people and other programs. `parameters` hold the raw values that
    make the round trip exact. Loading rejects a policy in which the two disagree.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> policy = Policy.of(Augmentation(Affine2d("rotate"), Uniform([0.7854])))
        >>> print(policy.augmentation())
        Affine2d: rotate ±45.0°
    """

    data: Mapping[str, Any]

    @classmethod
    def of(cls, augmentation: Augmentation) -> "Policy":
        """Creates the policy of an augmentation in its current state."""
        return cls(
            {
                "format": "augerino-policy",
                "version": VERSION,
                "summary": augmentation.describe(),
                "transform": _encode(augmentation.transform),
                "distribution": _encode(augmentation.distribution),
            }
        )

    def augmentation(self, kinds: Mapping[str, type[nn.Module]] | None = None) -> Augmentation:
        """Creates the augmentation.

        Its parameters require no gradient, so that it can be used in the workers of a `DataLoader`.
        To train it further, call its `requires_grad_()`.

        Args:
            kinds: your own transforms and distributions by class name.
        """
        known = {**KINDS, **(kinds or {})}
        try:
            transform = _decode(self.data["transform"], known)
            distribution = _decode(self.data["distribution"], known)
            if not isinstance(distribution, distributions.LearnedDistribution):
                raise TypeError("it has no distribution")
            return Augmentation(transform, distribution).requires_grad_(False)
        except InputError:
            raise
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RuntimeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            raise InputError(f"The policy is damaged ({error!r}). {_RESTORE}") from error

    def sentence(
        self, samples: str = "images", kinds: Mapping[str, type[nn.Module]] | None = None
    ) -> str:
        """Writes the ranges and rates as one sentence, without a full stop.

        Args:
            samples: plural of the inputs: "images", "signals", "clouds" or "samples".
            kinds: your own transforms and distributions by class name.

        Example:
            >>> from augerino import Affine2d, Uniform
            >>> learned = Augmentation(
            ...     Affine2d("translate_x", "translate_y", "rotate", "shear"),
            ...     Uniform([0.25, 0.25, 0.1571, 0.001], rate=[1.0, 1.0, 0.25, 1.0]),
            ... )
            >>> Policy.of(learned).sentence()
            'shift up to 12.5 % of the image in every image; rotate up to 9° in 1 of 4; never shear'
        """
        return sentence(self.augmentation(kinds).coordinates, samples)

    def save(self, path: str | Path) -> None:
        """Writes JSON, atomically."""
        files.write_json(path, self.data)

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Reads and validates a policy. Raises InputError for other files and newer versions."""
        data = files.read_json(path, "policy")
        if not isinstance(data, dict) or data.get("format") != "augerino-policy":
            raise InputError(f"{path} is JSON, but not an augerino policy.")
        if data.get("version") != VERSION:
            raise InputError(
                f"{path} is a policy of version {data.get('version')}, "
                f"but this augerino reads version {VERSION}: update augerino."
            )
        _reject_unknown_fields(data, _POLICY_FIELDS, str(path))
        policy = cls(data)
        try:
            is_built_in = kinds_in(data) <= KINDS.keys()
        except RecursionError as error:
            raise InputError(f"{path} is nested too deeply for a policy.") from error
        if is_built_in:  # other kinds can only be validated in `augmentation(kinds)`
            policy.augmentation()
        return policy


def kinds_in(data: Any) -> set[str]:
    """The class names of all transforms and distributions in the data of a policy."""
    if isinstance(data, list):
        return set().union(*(kinds_in(item) for item in data))
    if not isinstance(data, Mapping):
        return set()
    kinds = set().union(*(kinds_in(item) for item in data.values()))
    if "kind" in data:
        if not isinstance(data["kind"], str):
            raise InputError(f"The policy is damaged (a kind must be a name). {_RESTORE}")
        kinds.add(data["kind"])
    return kinds


def _reject_unknown_fields(data: Mapping[str, Any], known: set[str], what: str) -> None:
    unknown = data.keys() - known
    if unknown:
        raise InputError(f"{what} has an unknown field {min(unknown)[:40]!r}: remove it.")


def _encode(module: Any) -> Any:
    """JSON of a transform, a distribution, or a setting of one."""
    if isinstance(module, list):
        return [_encode(item) for item in module]
    if not isinstance(module, nn.Module):
        return module
    settings: dict[str, Any] = module.settings()  # type: ignore[operator]
    data: dict[str, Any] = {
        "kind": type(module).__name__,
        "settings": {key: _encode(value) for key, value in settings.items()},
    }
    parameters = dict(module.named_parameters(recurse=False))
    # Haar has no parameter from which the precision could be inferred.
    if isinstance(module, distributions.Haar):
        data["dtype"] = _dtype_name(module.extent)
    if parameters:
        data["dtype"] = _dtype_name(next(iter(parameters.values())))
        data["parameters"] = {
            name: value.detach().cpu().double().tolist() for name, value in parameters.items()
        }
    return data


def _dtype_name(like: Tensor) -> str:
    return str(like.dtype).removeprefix("torch.")


def _decode(data: Any, known: Mapping[str, type[nn.Module]]) -> Any:
    """The transform, distribution or setting that `_encode` encoded."""
    if isinstance(data, list):
        return [_decode(item, known) for item in data]
    if not isinstance(data, Mapping):
        return data
    kind = data["kind"]
    _reject_unknown_fields(data, _MODULE_FIELDS, f"The policy's {str(kind)[:40]}")
    settings = {key: _decode(value, known) for key, value in data["settings"].items()}
    if kind not in known:
        raise InputError(
            f"The policy contains a {kind}, which is not built in: "
            f"pass kinds={{'{kind}': {kind}}} to augmentation()."
        )
    module = known[kind](*settings.pop("names", ()), **settings)
    if "dtype" in data:
        module.to(_DTYPES[data["dtype"]])
    parameters = {
        name: torch.tensor(values, dtype=torch.float64)
        for name, values in data.get("parameters", {}).items()
    }
    if parameters and not _load_parameters(module, parameters, settings):
        raise InputError(
            f"The 'settings' and the 'parameters' of the policy's {kind} disagree. "
            "To use edited settings, delete its 'parameters'."
        )
    return module


def _load_parameters(
    module: nn.Module, parameters: Mapping[str, torch.Tensor], settings: Mapping[str, Any]
) -> bool:
    """Loads the parameters; returns False where they do not agree with the settings."""
    for name, value in parameters.items():
        if value.shape != module.get_parameter(name).shape:
            return False
    for name, value in parameters.items():
        module.get_parameter(name).data.copy_(value)
    return _are_close(module.settings(), settings)  # type: ignore[operator]


def _are_close(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two settings are equal up to rounding."""
    for key in a:
        x = torch.tensor(a[key], dtype=torch.float64)
        y = torch.tensor(b[key], dtype=torch.float64)
        if x.shape != y.shape or not torch.allclose(x, y, rtol=1e-5, atol=1e-12):
            return False
    return True
