"""The changepoints of known curves."""

import pytest
import torch

from augerino.learning.changepoint import changepoint

LEVELS = (torch.arange(16) + 0.5) / 16


@pytest.mark.parametrize("begins", [0.0, 0.3, 0.75])
def test_the_changepoint_of_a_noisy_curve_is_recovered(begins):
    g = torch.Generator().manual_seed(0)
    curve = 0.7 + 2 * (LEVELS - begins).clamp_min(0).square() + 0.002 * torch.randn(16, generator=g)
    assert changepoint(LEVELS, curve) == pytest.approx(begins, abs=0.06)


@pytest.mark.parametrize("n", [4, 8, 10])
def test_few_levels_may_end_before_the_last_candidate(n):
    levels = (torch.arange(n) + 0.5) / n
    curve = 0.3 + 4 * (levels - 0.5).clamp_min(0).square()
    assert changepoint(levels, curve) == pytest.approx(0.5)


@pytest.mark.parametrize("curve", [torch.full((16,), 0.3), 1 - LEVELS], ids=["constant", "falling"])
def test_a_curve_that_does_not_rise_has_no_changepoint(curve):
    assert changepoint(LEVELS, curve) == 1.0


@pytest.mark.parametrize(
    ("spread", "trained", "read"),
    [(0.05, 1.2, 0.87), (0.5, 1.3, 1.05), (1.0, 1.5, 1.09), (3.0, 1.8, 1.16)],
)
def test_the_extent_of_bayes_optimal_predictions(spread, trained, read):
    """Two classes with a true extent of 1, each spread around a centre, and the optimal network.

    The smaller the spread, the more abruptly the loss rises; a parabola fits intermediate spreads.
    """
    g = torch.Generator().manual_seed(1)
    position = spread * (2 * torch.rand(200_000, generator=g) - 1)
    seen = position + trained * (2 * torch.rand(200_000, generator=g) - 1)
    edges = torch.linspace(-1 - spread - 2 * trained, 3 + 3 * spread + 2 * trained, 400)
    own = torch.histogram(seen, edges).hist
    other = torch.histogram(2 + 2 * spread - seen, edges).hist
    loss = (1 + other / own.clamp_min(1)).log()
    probed = position[:4000] + trained * LEVELS[:, None]
    values = loss[torch.bucketize(probed, edges) - 1].mean(dim=1)
    end = trained * (1 + changepoint(LEVELS, values)) / 2
    assert end == pytest.approx(read, abs=0.03)
