"""A published policy as a layer that acts in training, like dropout."""

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from augerino.errors import InputError
from augerino.nets.policies.operations import apply
from augerino.nets.policies.tables import (
    Drawing,
    auto_augment,
    fast_auto_augment,
    rand_augment,
    trivial_augment,
)

if TYPE_CHECKING:
    from PIL.Image import Image

#: AutoAugment (Cubuk et al. 2019) as found on CIFAR-10, RandAugment (Cubuk et al. 2020) with two
#: operations of strength 9 of 30, and TrivialAugment (Müller and Hutter 2021) in its wide space.
POLICIES: dict[str, Drawing] = {
    "AutoAugment": auto_augment,
    "RandAugment": rand_augment,
    "TrivialAugment": trivial_augment,
}
_MODES = {1: "L", 3: "RGB"}


class PublishedPolicy(nn.Module):
    """Applies a published policy to each image in [0, 1], in training mode only.

    The policy works on bytes, so no gradient passes through. torch's random state seeds the draws.

    Shape: (B, 1 or 3, H, W) -> the same.

    Args:
        name: "AutoAugment", "RandAugment" or "TrivialAugment"; any name with `draw`.
        draw: samples the operations and values for one image, given a random generator.

    Example:
        >>> policy = PublishedPolicy("TrivialAugment").eval()
        >>> x = torch.rand(2, 3, 8, 8)
        >>> policy(x) is x
        True
    """

    def __init__(self, name: str, draw: Drawing | None = None) -> None:
        super().__init__()
        if draw is None and name not in POLICIES:
            raise InputError(f"There is no policy '{name}'. There are: {', '.join(POLICIES)}.")
        self.name = name
        self.draw = POLICIES[name] if draw is None else draw

    @classmethod
    def from_file(cls, path: Path) -> "PublishedPolicy":
        """A policy of Fast AutoAugment from JSON: its sub-policies under the key "policy"."""
        try:
            if not path.is_file():
                raise FileNotFoundError("it is not a regular file")
            pairs = json.loads(path.read_text())["policy"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"{path} should be a policy of Fast AutoAugment, JSON with a key 'policy', "
                f"but cannot be read: {error}."
            ) from error
        return cls("FastAutoAugment", fast_auto_augment(pairs))

    def extra_repr(self) -> str:
        """The name of the policy."""
        return self.name

    def forward(self, x: Tensor) -> Tensor:
        """(B, 1 or 3, H, W) -> (B, 1 or 3, H, W)"""
        if not self.training:
            return x
        if x.dim() != 4 or x.shape[1] not in _MODES:
            raise InputError(
                f"{self.name} needs images with 1 or 3 channels, (B, C, H, W), "
                f"but got {tuple(x.shape)}."
            )
        import numpy as np
        from PIL import Image

        rng = random.Random(int(torch.randint(2**62, ()).item()))
        pixels = (x.detach().cpu().float() * 255).round().clamp(0, 255).to(torch.uint8)
        rows = pixels.permute(0, 2, 3, 1).numpy()
        if x.shape[1] == 1:
            rows = rows[..., 0]
        moved = np.stack([np.asarray(self._move(Image.fromarray(row), rng)) for row in rows])
        found = torch.from_numpy(moved).reshape(len(x), *x.shape[2:], x.shape[1])
        return found.permute(0, 3, 1, 2).to(x) / 255

    def _move(self, image: "Image", rng: random.Random) -> "Image":
        for name, value in self.draw(rng):
            image = apply(name, image, value, rng)
        return image
