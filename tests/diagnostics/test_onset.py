"""Where curves that are known begin to rise."""

import pytest
import torch

from augerino.diagnostics.onset import onset

LEVELS = (torch.arange(16) + 0.5) / 16


@pytest.mark.parametrize("begins", [0.0, 0.3, 0.75])
def test_a_curve_of_the_form_is_found_through_noise(begins):
    g = torch.Generator().manual_seed(0)
    curve = 0.7 + 2 * (LEVELS - begins).clamp_min(0).square() + 0.002 * torch.randn(16, generator=g)
    at, rise = onset(LEVELS, curve)
    assert at == pytest.approx(begins, abs=0.06)
    assert rise == pytest.approx(2 * (1 - begins) ** 2, rel=0.1)


@pytest.mark.parametrize("n", [4, 8, 10])
def test_a_few_levels_that_end_before_the_last_onset_tried(n):
    levels = (torch.arange(n) + 0.5) / n
    at, rise = onset(levels, 0.3 + 4 * (levels - 0.5).clamp_min(0).square())
    assert at == pytest.approx(0.5)
    assert rise == pytest.approx(1.0)


@pytest.mark.parametrize("curve", [torch.full((16,), 0.3), 1 - LEVELS], ids=["even", "falling"])
def test_nothing_rises(curve):
    at, rise = onset(LEVELS, curve)
    assert rise == pytest.approx(0, abs=1e-9)
    assert at == 1.0 or curve.std() == 0


@pytest.mark.parametrize(("spread", "trained", "read"), [(0.05, 1.2, 0.87), (0.5, 1.3, 1.05), (1.0, 1.5, 1.09), (3.0, 1.8, 1.16)])
def test_how_far_the_extent_of_ideal_predictions_is_read(spread, trained, read):
    """Two labels, each spread around its place and with an extent of 1, and a network that says how often it has seen either.

    The nearer the items of a label stand to each other, the more suddenly the loss rises; a parabola is right in between.
    """
    g = torch.Generator().manual_seed(1)
    item = spread * (2 * torch.rand(200_000, generator=g) - 1)
    seen = item + trained * (2 * torch.rand(200_000, generator=g) - 1)
    edges = torch.linspace(-1 - spread - 2 * trained, 3 + 3 * spread + 2 * trained, 400)
    own, other = torch.histogram(seen, edges).hist, torch.histogram(2 + 2 * spread - seen, edges).hist
    unsaid = (1 + other / own.clamp_min(1)).log()
    values = unsaid[torch.bucketize(item[:4000] + trained * LEVELS[:, None], edges) - 1].mean(dim=1)
    at, _ = onset(LEVELS, values)
    assert trained * (1 + at) / 2 == pytest.approx(read, abs=0.03)
