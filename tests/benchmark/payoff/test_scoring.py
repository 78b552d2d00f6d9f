"""Laws of the score: no regret for the best, antisymmetric differences, shrinking intervals."""

import math

import pytest
import torch

from augerino.benchmark.payoff.scoring import (
    Difference,
    difference,
    gain,
    leaderboard,
    student_quantile,
)
from augerino.benchmark.payoff.trained import Outcome


def outcome(score, *, cell="a", contestant="mine", seed=0, seconds=1.0, n=200):
    """An accuracy: the first `score` % of the items are right."""
    items = 100.0 * (torch.arange(n) < n * score / 100)
    return Outcome(cell, contestant, seed, items, one_view=score - 1, seconds=seconds)


def errors(scale, *, contestant="mine", seed=0, n=300):
    values = scale * torch.rand(n, generator=torch.Generator().manual_seed(seed))
    return Outcome("a", contestant, seed, values, one_view=scale / 2)


def of_seeds(scores, **options):
    return [outcome(score, seed=seed, **options) for seed, score in enumerate(scores)]


class TestDifference:
    @pytest.mark.parametrize("is_regression", [False, True])
    @pytest.mark.parametrize("n_seeds", [1, 2, 5])
    def test_it_is_antisymmetric(self, n_seeds, is_regression):
        scores = [61.0, 63.5, 62.0, 66.0, 60.5][:n_seeds]
        others = [60.0, 61.5, 63.0, 63.0, 60.0][:n_seeds]
        mine = of_seeds(scores)
        other = of_seeds(others)
        forward = difference(mine, other, is_regression)
        back = difference(other, mine, is_regression)
        assert forward.mean == pytest.approx(-back.mean)
        # The percentiles of 1,000 resamples are symmetric up to one rank.
        assert forward.low == pytest.approx(-back.high, abs=1e-5)
        assert forward.high == pytest.approx(-back.low, abs=1e-5)
        assert forward.low <= forward.mean <= forward.high

    def test_its_interval_is_students_over_seeds(self):
        found = difference(of_seeds([62.0, 64.0, 66.0]), of_seeds([60.0] * 3))
        half = 4.303 * 2 / math.sqrt(3)
        assert (found.mean, found.low, found.high) == pytest.approx((4, 4 - half, 4 + half))

    def test_it_shrinks_with_the_number_of_seeds(self):
        def width(repeats):
            found = difference(of_seeds([61, 63] * repeats), of_seeds([60, 60] * repeats))
            return found.high - found.low

        assert width(1) > width(2) > width(4) > width(20) > 0

    def test_with_one_seed_it_shrinks_with_the_number_of_items(self):
        def width(n):
            found = difference([outcome(70, n=n)], [outcome(60, n=n)])
            return found.high - found.low

        assert width(50) > width(200) > width(2000) > 0

    def test_it_is_paired(self):
        mine = [51.0, 61.0, 71.0]  # always one point better, while seeds differ by ten
        found = difference(of_seeds(mine), of_seeds([50.0, 60.0, 70.0]))
        assert found.mean == pytest.approx(1) and found.is_better and not found.is_worse

    def test_only_common_seeds_count(self):
        mine = [outcome(70, seed=seed) for seed in (0, 1, 7)]
        found = difference(mine, of_seeds([60.0, 50.0]))
        assert found.mean == pytest.approx(15)
        assert difference(mine, [outcome(50, seed=9)]) is None

    def test_a_smaller_error_is_better(self):
        found = difference([errors(1.0)], [errors(2.0)], is_regression=True)
        assert found.mean == pytest.approx(100 * math.log(2)) and found.is_better
        assert gain(98.0, 100.0, is_regression=True) == pytest.approx(2, abs=0.03)

    def test_its_verdict_needs_the_whole_interval(self):
        assert not Difference(1.0, -0.1, 2.0).is_better
        assert Difference(-1.0, -2.0, -0.1).is_worse


@pytest.mark.parametrize("degrees", [1, 2, 4, 10, 11, 15, 40, 1000])
def test_quantiles_of_student(degrees):
    from scipy import stats

    assert student_quantile(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=1e-3)


class TestLeaderboard:
    def board(self):
        outcomes = [
            *of_seeds([50, 52], contestant="none", seconds=2.0),
            *of_seeds([60, 62], contestant="standard", seconds=3.0),
            *of_seeds([66, 68], contestant="mine", seconds=8.0),
            *of_seeds([80, 80], cell="b", contestant="none"),
            *of_seeds([78, 78], cell="b", contestant="mine"),
            Outcome("c", "none", 0, torch.tensor([2.0, 4.0]), one_view=3.0),
            Outcome("c", "mine", 0, torch.tensor([1.0, 2.0]), one_view=1.5),
        ]
        return leaderboard(outcomes, {"a": "", "b": "", "c": "meV"}, {"d": "no file"})

    def test_the_best_of_each_cell_has_no_regret(self):
        board = self.board()
        for cell in "abc":
            regrets = [entry.regret for entry in board.of(cell)]
            assert regrets[0] == 0 and regrets == sorted(regrets)
        assert [entry.contestant for entry in board.of("a")] == ["mine", "standard", "none"]
        assert [entry.regret for entry in board.of("a")] == pytest.approx([0, 6, 16])

    def test_ranks_are_means_over_cells(self):
        ranks = {rank.contestant: rank for rank in self.board().ranks}
        assert self.board().ranks[0].contestant == "mine"
        assert ranks["mine"].points == pytest.approx(1) and ranks["mine"].percent == 0
        assert ranks["none"].points == pytest.approx(8)
        assert ranks["none"].percent == pytest.approx(100 * math.log(2))
        assert ranks["standard"].percent is None
        assert ranks["mine"].counts("none") == (2, 1, 3)

    def test_cost_is_in_trainings_without_augmentation(self):
        costs = {entry.contestant: entry.cost for entry in self.board().of("a")}
        assert costs == pytest.approx({"none": 1.0, "standard": 1.5, "mine": 4.0})

    def test_it_reads_well(self):
        text = str(self.board())
        assert "mine: regret 1.00 points; regret 0.0 % of the error; over none: better in 2" in text
        assert "mine: 67.00 % (one view 66.00), regret 0.00, over none +16.00" in text
        assert "none: 3.0 meV (one view 3.0), regret 69.31" in text
        assert "d: not run: no file" in text
