"""Measurements of models and of what was learned: functions that return small dataclasses, and never draw or print."""

from augerino.diagnostics.comparison import Judged, Score, judge_all, per_class, score
from augerino.diagnostics.curvature import Curvature, curvature, effective_dimension
from augerino.diagnostics.equivariance import Equivariance, equivariance_error
from augerino.diagnostics.evaluation import Evaluation, evaluate
from augerino.diagnostics.evidence import Change, Evidence, Findings, gather
from augerino.diagnostics.haar import HaarDeviation, haar_deviation
from augerino.diagnostics.orbit import Orbit, orbit
from augerino.diagnostics.profile import Profile, profile
from augerino.diagnostics.rays import Rays, loss_along_rays
from augerino.diagnostics.segmentation import confusion, iou, mean_iou, pixel_accuracy
from augerino.diagnostics.surface import LossSurface
from augerino.diagnostics.verdict import Verdict, verdicts

__all__ = [
    "Change",
    "Curvature",
    "Equivariance",
    "Evaluation",
    "Evidence",
    "Findings",
    "Judged",
    "HaarDeviation",
    "LossSurface",
    "Orbit",
    "Profile",
    "Rays",
    "Score",
    "Verdict",
    "confusion",
    "curvature",
    "effective_dimension",
    "equivariance_error",
    "evaluate",
    "gather",
    "iou",
    "haar_deviation",
    "judge_all",
    "loss_along_rays",
    "mean_iou",
    "orbit",
    "per_class",
    "pixel_accuracy",
    "profile",
    "score",
    "verdicts",
]
