"""Published augmentation policies from torchvision, as a layer in front of a network."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from augerino.errors import InputError
from augerino.saving.export.libraries import require

#: AutoAugment (Cubuk et al. 2019): one of 25 pairs of operations per image, found on CIFAR-10.
#: TrivialAugment (Müller and Hutter 2021, "wide"): one of 14 operations at one of 31 strengths,
#: both drawn per image. The paper's Fast AutoAugment policy (Lim et al. 2019) is in no maintained
#: library; timm has policies for ImageNet only.
PolicyName = Literal["AutoAugment", "TrivialAugment"]


class PublishedPolicy(nn.Module):
    """Applies a published policy to each image in [0, 1], in training mode only.

    The policy works on bytes, so no gradient passes through. Requires torchvision.

    Args:
        name: "AutoAugment" (the policy for CIFAR-10) or "TrivialAugment".
    """

    def __init__(self, name: PolicyName) -> None:
        super().__init__()
        if name not in get_args(PolicyName):
            known = ", ".join(get_args(PolicyName))
            raise InputError(f"There is no policy '{name}'. There are: {known}.")
        library = require("torchvision.transforms", "torchvision")
        self.name = name
        self.policy: Any = library.TrivialAugmentWide()
        if name == "AutoAugment":
            self.policy = library.AutoAugment(library.AutoAugmentPolicy.CIFAR10)

    def extra_repr(self) -> str:
        return self.name

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        import numpy as np
        from PIL import Image

        pixels = (x.detach().cpu().float() * 255).round().to(torch.uint8)
        images = [Image.fromarray(image) for image in pixels.permute(0, 2, 3, 1).numpy()]
        moved = np.stack([np.asarray(self.policy(image)) for image in images])
        return torch.from_numpy(moved).permute(0, 3, 1, 2).to(x) / 255
