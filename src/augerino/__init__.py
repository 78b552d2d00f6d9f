"""augerino: learn the symmetries of your data.

An implementation of Benton, Finzi, Izmailov and Wilson (2020), "Learning Invariances in Neural
Networks". Names are imported on first use, so that the command line can print its help without
importing torch.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from augerino import benchmark as benchmark
    from augerino import data as data
    from augerino import diagnostics as diagnostics
    from augerino import lie as lie
    from augerino import nets as nets
    from augerino import paper as paper
    from augerino import plots as plots
    from augerino import saving as saving
    from augerino import testing as testing
    from augerino import training as training
    from augerino import transforms as transforms
    from augerino import tree as tree
    from augerino.augmentation import Augmentation as Augmentation
    from augerino.augmentation import Chain as Chain
    from augerino.augmentation import Element as Element
    from augerino.coordinate import Coordinate as Coordinate
    from augerino.coordinate import LearnedCoordinate as LearnedCoordinate
    from augerino.coordinate import Unit as Unit
    from augerino.distributions import Bernoulli as Bernoulli
    from augerino.distributions import Gaussian as Gaussian
    from augerino.distributions import Haar as Haar
    from augerino.distributions import Interval as Interval
    from augerino.distributions import LearnedDistribution as LearnedDistribution
    from augerino.distributions import Uniform as Uniform
    from augerino.errors import InputError as InputError
    from augerino.errors import NonFiniteLoss as NonFiniteLoss
    from augerino.learning.learn import learn as learn
    from augerino.learning.learned import Learned as Learned
    from augerino.learning.probe import Probe as Probe
    from augerino.learning.probe_settings import ProbeSettings as ProbeSettings
    from augerino.learning.recipe import Recipe as Recipe
    from augerino.models import Average as Average
    from augerino.models import EquivariantModel as EquivariantModel
    from augerino.models import FixedNodes as FixedNodes
    from augerino.models import InvariantModel as InvariantModel
    from augerino.models import mean as mean
    from augerino.models import mean_log_prob as mean_log_prob
    from augerino.models import mean_prob as mean_prob
    from augerino.objective import LogVolume as LogVolume
    from augerino.objective import LossTerms as LossTerms
    from augerino.objective import NegativeEntropy as NegativeEntropy
    from augerino.objective import NegativeL2 as NegativeL2
    from augerino.objective import NegativeNorm as NegativeNorm
    from augerino.objective import Objective as Objective
    from augerino.saving.policy import Policy as Policy
    from augerino.saving.pretrained import from_pretrained as from_pretrained
    from augerino.saving.pretrained import save_pretrained as save_pretrained
    from augerino.training.loop import fit as fit
    from augerino.training.loop import iter_epochs as iter_epochs
    from augerino.training.optimizer import param_groups as param_groups
    from augerino.training.state import Epoch as Epoch
    from augerino.training.state import History as History
    from augerino.training.tensorboard import tensorboard as tensorboard
    from augerino.transforms import Affine2d as Affine2d
    from augerino.transforms import Affine3d as Affine3d
    from augerino.transforms import AutoContrast as AutoContrast
    from augerino.transforms import Boxes as Boxes
    from augerino.transforms import Brightness as Brightness
    from augerino.transforms import Contrast as Contrast
    from augerino.transforms import Equalize as Equalize
    from augerino.transforms import Erase as Erase
    from augerino.transforms import Flip as Flip
    from augerino.transforms import Gain as Gain
    from augerino.transforms import Gamma as Gamma
    from augerino.transforms import Grayscale as Grayscale
    from augerino.transforms import Hue as Hue
    from augerino.transforms import Identity as Identity
    from augerino.transforms import ImageTransform as ImageTransform
    from augerino.transforms import Keypoints as Keypoints
    from augerino.transforms import LabelMap as LabelMap
    from augerino.transforms import LieTransform as LieTransform
    from augerino.transforms import NoiseLevel as NoiseLevel
    from augerino.transforms import On as On
    from augerino.transforms import PhotometricTransform as PhotometricTransform
    from augerino.transforms import PixelNoise as PixelNoise
    from augerino.transforms import PixelShift as PixelShift
    from augerino.transforms import Posterize as Posterize
    from augerino.transforms import RotoTranslate2d as RotoTranslate2d
    from augerino.transforms import Saturation as Saturation
    from augerino.transforms import Sharpness as Sharpness
    from augerino.transforms import Solarize as Solarize
    from augerino.transforms import TimeScale as TimeScale
    from augerino.transforms import TimeShift as TimeShift
    from augerino.transforms import Transform as Transform
    from augerino.transforms import VectorField as VectorField
    from augerino.transforms import Vectors as Vectors

_MODULES = (
    "benchmark",
    "data",
    "diagnostics",
    "lie",
    "nets",
    "paper",
    "plots",
    "saving",
    "testing",
    "training",
    "transforms",
    "tree",
)
_HOMES = {
    "augmentation": ("Augmentation", "Chain", "Element"),
    "coordinate": ("Coordinate", "LearnedCoordinate", "Unit"),
    "distributions": (
        "Bernoulli",
        "Gaussian",
        "Haar",
        "Interval",
        "LearnedDistribution",
        "Uniform",
    ),
    "errors": ("InputError", "NonFiniteLoss"),
    "learning.learn": ("learn",),
    "learning.learned": ("Learned",),
    "learning.probe": ("Probe",),
    "learning.probe_settings": ("ProbeSettings",),
    "learning.recipe": ("Recipe",),
    "models": (
        "Average",
        "EquivariantModel",
        "FixedNodes",
        "InvariantModel",
        "mean",
        "mean_log_prob",
        "mean_prob",
    ),
    "objective": (
        "LogVolume",
        "NegativeEntropy",
        "NegativeL2",
        "NegativeNorm",
        "Objective",
        "LossTerms",
    ),
    "saving.policy": ("Policy",),
    "saving.pretrained": ("from_pretrained", "save_pretrained"),
    "training.loop": ("fit", "iter_epochs"),
    "training.optimizer": ("param_groups",),
    "training.state": ("Epoch", "History"),
    "training.tensorboard": ("tensorboard",),
    "transforms": (
        "Affine2d",
        "Affine3d",
        "AutoContrast",
        "Boxes",
        "Brightness",
        "Contrast",
        "Equalize",
        "Erase",
        "Flip",
        "Gain",
        "Gamma",
        "Grayscale",
        "Hue",
        "Identity",
        "ImageTransform",
        "Keypoints",
        "LabelMap",
        "LieTransform",
        "NoiseLevel",
        "On",
        "PhotometricTransform",
        "PixelNoise",
        "PixelShift",
        "Posterize",
        "RotoTranslate2d",
        "Saturation",
        "Sharpness",
        "Solarize",
        "TimeScale",
        "TimeShift",
        "Transform",
        "VectorField",
        "Vectors",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [*_HOME_OF, *_MODULES]  # noqa: PLE0604 (listed above)


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(import_module(f"augerino.{_HOME_OF[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"augerino.{name}")
    elif name == "__version__":
        value = version("augerino")
    else:
        raise AttributeError(f"module 'augerino' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
