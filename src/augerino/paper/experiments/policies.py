"""Published augmentation policies, as torchvision keeps them, in front of a network."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from augerino.errors import InputError
from augerino.saving.export.libraries import require

#: AutoAugment: the 25 pairs of operations that a search on CIFAR-10 found (Cubuk et al. 2019), one pair drawn an image.
#: TrivialAugment: one operation of 14 at a strength of 31, both drawn for each image (Müller and Hutter 2021, "wide").
#: Fast AutoAugment's policy (Lim et al. 2019), the paper's, is in no library that is kept; timm has policies for ImageNet only.
PolicyName = Literal["AutoAugment", "TrivialAugment"]


class PublishedPolicy(nn.Module):
    """Applies a published policy to each image in [0, 1], in training only. It works on bytes, so no gradient passes through.

    Args:
        name: "AutoAugment" (the policy for CIFAR-10) or "TrivialAugment". Both need the extra torchvision.
    """

    def __init__(self, name: PolicyName) -> None:
        super().__init__()
        if name not in get_args(PolicyName):
            raise InputError(
                f"There is no policy '{name}'. There are: {', '.join(get_args(PolicyName))}."
            )
        library = require("torchvision.transforms", "torchvision")
        self.name = name
        self.apply_to: Any = (
            library.AutoAugment(library.AutoAugmentPolicy.CIFAR10)
            if name == "AutoAugment"
            else library.TrivialAugmentWide()
        )

    def extra_repr(self) -> str:
        return self.name

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        import numpy as np
        from PIL import Image

        pixels = (
            (x.detach().cpu().float() * 255).round().to(torch.uint8).permute(0, 2, 3, 1).numpy()
        )
        moved = np.stack([np.asarray(self.apply_to(Image.fromarray(image))) for image in pixels])
        return torch.from_numpy(moved).permute(0, 3, 1, 2).to(x) / 255
