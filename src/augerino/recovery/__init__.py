"""The recovery benchmark: problems whose symmetries are known exactly, and how well a recipe finds them."""

from augerino.recovery.axis import Axis
from augerino.recovery.bases import Arrows, Base, Images, Pulses
from augerino.recovery.catalogue import embedded
from augerino.recovery.contestants import CONTESTANTS, Contestant, contestant
from augerino.recovery.glyphs import figures, letters
from augerino.recovery.natural import HARD, hard
from augerino.recovery.problem import Answer, Problem
from augerino.recovery.scoring import Estimate, Outcome, Reading, Score, score, summarise

__all__ = [
    "CONTESTANTS", "HARD", "Answer", "Arrows", "Axis", "Base", "Contestant", "Estimate", "Images", "Outcome", "Problem",
    "Pulses", "Reading", "Score", "contestant", "embedded", "figures", "hard", "letters", "score", "summarise",
]  # fmt: skip
