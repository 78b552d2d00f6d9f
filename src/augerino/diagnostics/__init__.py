"""Measurements of models and of what was learned: functions that return small dataclasses, and never draw or print."""

from augerino.diagnostics.comparison import Judged, Score, judge_all, per_class, score
from augerino.diagnostics.equivariance import Equivariance, equivariance_error
from augerino.diagnostics.evaluation import Evaluation, evaluate
from augerino.diagnostics.evidence import Change, Evidence, Findings, gather
from augerino.diagnostics.orbit import Orbit, orbit
from augerino.diagnostics.segmentation import confusion, iou, mean_iou, pixel_accuracy
from augerino.diagnostics.verdict import Verdict, verdicts

__all__ = [
    "Change",
    "Equivariance",
    "Evaluation",
    "Evidence",
    "Findings",
    "Judged",
    "Orbit",
    "Score",
    "Verdict",
    "confusion",
    "equivariance_error",
    "evaluate",
    "gather",
    "iou",
    "judge_all",
    "mean_iou",
    "orbit",
    "per_class",
    "pixel_accuracy",
    "score",
    "verdicts",
]
