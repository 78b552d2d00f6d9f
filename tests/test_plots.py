"""Figures show the learned ranges in readable units."""

import math

import pytest

import augerino as ag

pytest.importorskip("matplotlib")
from augerino import plots


def one_axis():
    _, (ax,) = plots.figure(1, 1, 4, 3)
    return ax


def test_a_coordinate_without_a_limit_has_a_bar_too():
    augmentation = ag.Augmentation(
        ag.Affine3d("rotate_z", "translate_x"), ag.Uniform([math.pi / 2, 40.0])
    )
    ax = one_axis()
    plots.draw_ranges(ax, augmentation, start={"rotate_z": 0.3, "translate_x": 10.0})
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx([1.0, 2 * 40 / 50])


def test_one_label_per_kind_of_line_however_many_rows():
    augmentation = ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([0.5, 0.5]))
    ax = one_axis()
    start = {"rotate": 0.3, "scale": 0.3}
    plots.draw_ranges(ax, augmentation, start, true={"rotate": 0.6, "scale": 0.6})
    assert sorted(ax.get_legend_handles_labels()[1]) == ["start", "true extent"]
