"""The payoff suite: do models get better by an augmentation, on every kind of data?"""

from augerino.benchmark.payoff.catalogue import all_cells, embedded, find, usual
from augerino.benchmark.payoff.cell import Cell, Split
from augerino.benchmark.payoff.contestants import Contestant, all_contestants
from augerino.benchmark.payoff.run import cell_of, payoff
from augerino.benchmark.payoff.scoring import Difference, Entry, Leaderboard, Rank
from augerino.benchmark.payoff.trained import Outcome

__all__ = [
    "Cell",
    "Contestant",
    "Difference",
    "Entry",
    "Leaderboard",
    "Outcome",
    "Rank",
    "Split",
    "all_cells",
    "all_contestants",
    "cell_of",
    "embedded",
    "find",
    "payoff",
    "usual",
]
