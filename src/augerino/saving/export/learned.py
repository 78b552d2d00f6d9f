"""A learned augmentation as the plain numbers that other libraries are given."""

from typing import Any

from torch import nn

from augerino.augmentation import Augmentation
from augerino.errors import InputError
from augerino.saving.policy import Policy, kinds_in

TRANSFORMS = ("Affine2d", "Brightness", "Contrast", "Flip")
DISTRIBUTIONS = ("Uniform", "Interval", "Gaussian", "Bernoulli")


def numbers(policy: Policy | Augmentation, target: str) -> dict[str, Any]:
    """Transforms and distributions in order, as plain lists; what the target has no word for is refused in a sentence."""
    policy = Policy.of(policy) if isinstance(policy, Augmentation) else policy
    foreign = sorted(kinds_in(policy.data) - {*TRANSFORMS, *DISTRIBUTIONS, "Compose", "Product"})
    if foreign:
        raise InputError(
            f"The augmentation holds {foreign[0]}, which {target} has no word for: only {', '.join(TRANSFORMS)} can, drawn from "
            f"{', '.join(DISTRIBUTIONS)}. The policy itself keeps everything."
        )
    augmentation = policy.augmentation()
    return {
        "transforms": _flat(augmentation.transform),
        "distributions": _flat(augmentation.distribution),
    }


def _flat(module: nn.Module) -> list[dict[str, Any]]:
    parts = getattr(module, "parts", None)
    if parts is not None:
        return [item for part in parts for item in _flat(part)]
    names = {"names": list(module.names)} if hasattr(module, "names") else {}  # type: ignore[arg-type]
    return [{"kind": type(module).__name__, **names, **module.settings()}]  # type: ignore[operator]
