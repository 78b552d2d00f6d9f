"""Settings and rows that the experiments of the paper share."""

from dataclasses import dataclass
from typing import Literal

from augerino.errors import InputError
from augerino.runtime.trials import BaseRow, BaseSettings


@dataclass(frozen=True)
class Settings(BaseSettings):
    """Settings of experiments that train one model per row and seed."""

    epochs: int = 200
    """passes over the training data"""
    batch_size: int = 128
    """samples per step"""
    lr: float = 0.01
    """learning rate of the weights, with cosine decay"""
    augmentation_lr: float = 0.04
    """learning rate of the bounds"""
    warm_up: float = 0.1
    """fraction of the training before the bounds start to move; the released recipe has none"""
    augmentation_beta2: float = 0.999
    """second beta of Adam for the bounds"""

    def check(self) -> None:
        super().check()
        self._require_at_least_one("epochs", "batch_size")
        self._require_below_one("warm_up")
        self._require_below_one("augmentation_beta2")

    def _require_below_one(self, name: str) -> None:
        value = getattr(self, name)
        if not 0 <= value < 1:
            raise InputError(f"{name} must be at least 0 and below 1, but got {value}.")


@dataclass(frozen=True)
class ImageSettings(Settings):
    """Settings of experiments whose network maps one image to one output."""

    net: Literal["small", "layer13"] = "layer13"
    """the network: a small CNN, or the paper's"""
    width: int = 128
    """its width"""
    steerable_epochs: int = 200
    """epochs of the steerable baseline, which is slower and needs fewer"""

    def check(self) -> None:
        super().check()
        self._require_at_least_one("steerable_epochs", "width")


@dataclass(frozen=True, kw_only=True)
class Row(BaseRow):
    """One row of an experiment's table: how its model is trained.

    Args:
        kind: kind of augmentation or network.
        reg_weight: λ, the weight of the regularizer.
        start: bound at which the coordinates start.
        rotate_start: bound at which the rotation starts; `start` by default.
        augmentation_lr: learning rate of the bounds; that of the settings by default.
        warm_up: fraction of the training before the bounds move; that of the settings by default.
        hide_corners: whether the network sees only the disc inside each image.
        regularizer: −Σθ² or minus the entropy.
        variant: variant of the data, for experiments with several.
        method: method that learns the bounds.
        tolerance: tolerance of the probe; that of the settings by default.
        refit: whether the network is retrained on the learned augmentation.
        group: the group to which the network is invariant by construction.
        policy: name of a published augmentation policy.
    """

    kind: Literal["none", "fixed", "learned", "released", "steerable", "policy"]
    reg_weight: float = 0.0
    start: float = 0.3
    rotate_start: float | None = None
    augmentation_lr: float | None = None
    warm_up: float | None = None
    hide_corners: bool = False
    regularizer: Literal["l2", "entropy"] = "l2"
    variant: str = ""
    method: Literal["gradient", "probe"] = "gradient"
    tolerance: float | None = None
    refit: bool = False
    group: str = ""
    policy: str = ""
