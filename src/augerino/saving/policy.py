"""A learned augmentation as data: versioned JSON that a person can read and a program can turn back, bit for bit."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from augerino import distributions, transforms
from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.runtime import files

VERSION = 1

_DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "float16", "bfloat16")}

_FIELDS = {"format", "version", "summary", "transform", "distribution"}

KINDS: dict[str, type[nn.Module]] = {
    kind.__name__: kind
    for kind in (
        *(
            transforms.Affine2d,
            transforms.Brightness,
            transforms.Contrast,
            transforms.Flip,
            transforms.On,
            transforms.Compose,
        ),
        *(transforms.RotoTranslate2d, transforms.Identity, transforms.Keypoints, transforms.Boxes),
        *(transforms.Vectors, transforms.VectorField, transforms.LabelMap),
        *(
            transforms.TimeShift,
            transforms.TimeScale,
            transforms.Gain,
            transforms.NoiseLevel,
            transforms.Affine3d,
        ),
        *(
            distributions.Uniform,
            distributions.Interval,
            distributions.Gaussian,
            distributions.Bernoulli,
            distributions.Product,
        ),
        distributions.Haar,
    )
}


@dataclass(frozen=True)
class Policy:
    """An augmentation as plain data.

    `settings` hold real units for people and other programs; `parameters` hold the raw values that make the round trip
    exact. Where somebody has changed only one of the two, loading says so instead of guessing.

    Example:
        >>> from augerino import Affine2d, Uniform
        >>> policy = Policy.of(Augmentation(Affine2d("rotate"), Uniform([0.7854])))
        >>> print(policy.augmentation())
        Affine2d: rotate ±45.0°
    """

    data: Mapping[str, Any]

    @classmethod
    def of(cls, augmentation: Augmentation) -> "Policy":
        """The policy of an augmentation as it is now."""
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
        """Builds the augmentation anew; `kinds` names transforms and distributions of your own.

        It is there to be used: nothing in it requires a gradient, so it can be called in a `DataLoader`'s processes. To go on
        learning it, call its `requires_grad_()`.
        """
        known = {**KINDS, **(kinds or {})}
        try:
            transform, distribution = (
                _decode(self.data[part], known) for part in ("transform", "distribution")
            )
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
            raise InputError(
                f"The policy is damaged ({error!r}). Restore it from a copy or learn it again."
            ) from error

    def save(self, path: str | Path) -> None:
        """Writes JSON, atomically."""
        files.write_json(path, self.data)

    @classmethod
    def load(cls, path: str | Path) -> "Policy":
        """Reads a policy; a file that is none, or is newer than this version, is refused in one sentence."""
        data = files.read_json(path, "policy")
        if not isinstance(data, dict) or data.get("format") != "augerino-policy":
            raise InputError(f"{path} is JSON, but not a policy of augerino.")
        if data.get("version") != VERSION:
            raise InputError(
                f"{path} is a policy of version {data.get('version')}, "
                f"but this augerino reads version {VERSION}: update augerino."
            )
        if unknown := data.keys() - _FIELDS:
            raise InputError(
                f"{path} is a policy with a field that means nothing here, {min(unknown)[:40]!r}: take it out."
            )
        policy = cls(data)
        try:
            known = kinds_in(data) <= KINDS.keys()
        except RecursionError as error:
            raise InputError(f"{path} is nested too deeply for a policy.") from error
        if known:  # other kinds are checked when `augmentation` is told what they are
            policy.augmentation()
        return policy


def kinds_in(data: Any) -> set[str]:
    """The names of all transforms and distributions that a policy's data hold."""
    if isinstance(data, list):
        return set().union(*(kinds_in(item) for item in data))
    if not isinstance(data, Mapping):
        return set()
    if not isinstance(data.get("kind", ""), str):
        raise InputError(
            "The policy is damaged (a kind must be a name). Restore it from a copy or learn it again."
        )
    own = {data["kind"]} if "kind" in data else set()
    return own.union(*(kinds_in(item) for item in data.values()))


def _encode(module: Any) -> Any:
    if isinstance(module, list):
        return [_encode(item) for item in module]
    if not isinstance(module, nn.Module):
        return module
    settings: dict[str, Any] = module.settings()  # type: ignore[operator]
    data = {
        "kind": type(module).__name__,
        "settings": {key: _encode(value) for key, value in settings.items()},
    }
    own = dict(module.named_parameters(recurse=False))
    if own or isinstance(
        module, distributions.Haar
    ):  # which has a precision to draw in, and no parameter that would tell
        data["dtype"] = str(next(iter(own.values()), module.extent).dtype).removeprefix("torch.")
    if own:
        data["parameters"] = {
            name: value.detach().cpu().double().tolist() for name, value in own.items()
        }
    return data


def _alike(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two settings are the same up to the rounding of their numbers."""
    pairs = [
        (torch.tensor(a[key], dtype=torch.float64), torch.tensor(b[key], dtype=torch.float64))
        for key in a
    ]
    return all(x.shape == y.shape and torch.allclose(x, y, rtol=1e-5, atol=1e-12) for x, y in pairs)


def _decode(data: Any, known: Mapping[str, type[nn.Module]]) -> Any:
    if isinstance(data, list):
        return [_decode(item, known) for item in data]
    if not isinstance(data, Mapping):
        return data
    kind = data["kind"]
    if unknown := data.keys() - {"kind", "settings", "dtype", "parameters"}:
        raise InputError(
            f"The policy's {str(kind)[:40]} has a field that means nothing here, {min(unknown)[:40]!r}: take it out."
        )
    settings = {key: _decode(value, known) for key, value in data["settings"].items()}
    if kind not in known:
        raise InputError(
            f"The policy holds a {kind}, which is not built in: pass kinds={{'{kind}': {kind}}} to augmentation()."
        )
    module = known[kind](*settings.pop("names", ()), **settings)
    if "dtype" in data:
        module.to(_DTYPES[data["dtype"]])
    own = {
        name: torch.tensor(values, dtype=torch.float64)
        for name, values in data.get("parameters", {}).items()
    }
    fits = all(value.shape == module.get_parameter(name).shape for name, value in own.items())
    for name, value in own.items() if fits else ():
        module.get_parameter(name).data.copy_(value)
    if own and not (fits and _alike(module.settings(), settings)):  # type: ignore[operator]
        raise InputError(
            f"The policy's {kind} says one thing in 'settings' and another in 'parameters'. "
            "To use edited settings, delete its 'parameters'."
        )
    return module
