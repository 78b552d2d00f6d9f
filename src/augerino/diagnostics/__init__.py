"""Measurements of models and of what was learned: functions that return small dataclasses, and never draw or print."""

from augerino.diagnostics.comparison import Score, judge_all, per_class, score
from augerino.diagnostics.equivariance import Equivariance, equivariance_error
from augerino.diagnostics.evaluation import Evaluation, evaluate
from augerino.diagnostics.evidence import Change, Evidence, Findings, gather
from augerino.diagnostics.orbit import Orbit, orbit
from augerino.diagnostics.profile import Profile, profile
from augerino.diagnostics.verdict import Verdict, verdicts

__all__ = [
    "Change",
    "Equivariance",
    "Evaluation",
    "Evidence",
    "Findings",
    "Orbit",
    "Profile",
    "Score",
    "Verdict",
    "equivariance_error",
    "evaluate",
    "gather",
    "judge_all",
    "orbit",
    "per_class",
    "profile",
    "score",
    "verdicts",
]
