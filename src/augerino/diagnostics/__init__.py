"""Measurements of trained models: functions that return small dataclasses, never draw or print."""

from augerino.diagnostics.comparison import ItemResults, Score, evaluate_items, per_class, score
from augerino.diagnostics.equivariance import EquivarianceCurve, equivariance_curve
from augerino.diagnostics.evaluation import Evaluation, evaluate
from augerino.diagnostics.evidence import CoordinateEvidence, Evidence, gather_evidence
from augerino.diagnostics.items import Estimate
from augerino.diagnostics.orbit import Orbit, orbit
from augerino.diagnostics.segmentation import confusion, iou, mean_iou, pixel_accuracy
from augerino.diagnostics.verdict import Verdict, verdicts

__all__ = [
    "CoordinateEvidence",
    "EquivarianceCurve",
    "Estimate",
    "Evaluation",
    "Evidence",
    "ItemResults",
    "Orbit",
    "Score",
    "Verdict",
    "confusion",
    "equivariance_curve",
    "evaluate",
    "evaluate_items",
    "gather_evidence",
    "iou",
    "mean_iou",
    "orbit",
    "per_class",
    "pixel_accuracy",
    "score",
    "verdicts",
]
