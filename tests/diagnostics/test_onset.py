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


@pytest.mark.parametrize("curve", [torch.full((16,), 0.3), 1 - LEVELS], ids=["even", "falling"])
def test_nothing_rises(curve):
    at, rise = onset(LEVELS, curve)
    assert rise == pytest.approx(0, abs=1e-9)
    assert at == 1.0 or curve.std() == 0
