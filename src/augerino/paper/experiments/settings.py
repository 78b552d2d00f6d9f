"""Settings and rows that the experiments of the paper share."""

from dataclasses import dataclass
from typing import Literal

from augerino.errors import InputError
from augerino.runtime.trials import BaseRow, BaseSettings


@dataclass(frozen=True)
class Settings(BaseSettings):
    """What experiments can be told whose rows all run one training."""

    epochs: int = 200
    """passes over the training data"""
    batch_size: int = 128
    """items per step"""
    lr: float = 0.01
    """learning rate of the weights, going down by a cosine"""
    augmentation_lr: float = 0.04
    """learning rate of the bounds"""
    warm_up: float = 0.1
    """share of the training during which bounds wait for the network; the released recipe has none"""
    memory: float = 0.999
    """Adam's second beta for the bounds: how slowly it forgets how large their gradients were"""

    def check(self) -> None:
        super().check()
        self._at_least_one("epochs", "batch_size")
        if not 0 <= self.warm_up < 1:
            raise InputError(
                f"warm_up is a share of the training, from 0 to below 1, but got {self.warm_up}."
            )
        if not 0 <= self.memory < 1:
            raise InputError(f"memory must lie between 0 and below 1, but got {self.memory}.")


@dataclass(frozen=True)
class ImageSettings(Settings):
    """What experiments can be told whose network takes one image to one answer."""

    net: Literal["small", "layer13"] = "layer13"
    """the network: a small CNN, or the paper's"""
    width: int = 128
    """its width"""
    steerable_epochs: int = 200
    """passes for the steerable baseline, which is slower and needs fewer"""

    def check(self) -> None:
        super().check()
        self._at_least_one("steerable_epochs", "width")


@dataclass(frozen=True)
class Row(BaseRow):
    """One row of an experiment's table: how the model is made."""

    kind: Literal["none", "fixed", "learned", "released", "steerable", "policy"]
    weight: float = 0.0
    start: float = 0.3
    rotate: float | None = None  # where the rotation starts, if not where the others do
    rate: float | None = None  # learning rate of the bounds, if not that of the settings
    wait: float | None = (
        None  # share of the training during which bounds wait, if not that of the settings
    )
    corners: bool = (
        True  # whether the network sees the corners of an image, or the disc inside it only
    )
    regularizer: Literal["l2", "entropy"] = "l2"  # what makes wide distributions cheap
    data: str = ""  # which variant of the data, where an experiment has several
    method: Literal["gradient", "probe"] = "gradient"  # how bounds move
    tolerance: float | None = None  # of a row by probing, if not that of the settings
    refit: bool = False  # whether the network is then trained anew, with coordinates in turns
    group: str = (
        ""  # to which group the network is invariant by construction, where it has a choice
    )
