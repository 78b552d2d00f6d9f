"""Diagnostics of the paper's experiments: curvature, rays, Haar deviation, loss profiles."""

from augerino.paper.diagnostics.curvature import Curvature, curvature, effective_dimension
from augerino.paper.diagnostics.haar import HaarDeviation, haar_deviation
from augerino.paper.diagnostics.profile import Profile, profile
from augerino.paper.diagnostics.rays import Rays, loss_along_rays
from augerino.paper.diagnostics.surface import LossSurface

__all__ = [
    "Curvature",
    "HaarDeviation",
    "LossSurface",
    "Profile",
    "Rays",
    "curvature",
    "effective_dimension",
    "haar_deviation",
    "loss_along_rays",
    "profile",
]
