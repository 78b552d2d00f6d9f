"""Two benchmarks: are known symmetries found (recovery), and do models get better (payoff)?"""

from augerino.benchmark.axis import Axis
from augerino.benchmark.bases import Arrows, Base, Images, Pulses
from augerino.benchmark.catalogue import embedded
from augerino.benchmark.contestants import CONTESTANTS, Contestant, contestant
from augerino.benchmark.glyphs import figures, letters
from augerino.benchmark.natural import HARD, hard
from augerino.benchmark.payoff import Cell, Leaderboard, payoff
from augerino.benchmark.problem import Answer, Problem
from augerino.benchmark.scoring import Estimate, Outcome, Reading, Score, score, summarize

__all__ = [
    "CONTESTANTS",
    "HARD",
    "Answer",
    "Arrows",
    "Axis",
    "Base",
    "Cell",
    "Contestant",
    "Estimate",
    "Images",
    "Leaderboard",
    "Outcome",
    "Problem",
    "Pulses",
    "Reading",
    "Score",
    "contestant",
    "embedded",
    "figures",
    "hard",
    "letters",
    "payoff",
    "score",
    "summarize",
]
