"""How far drawn rotations are from uniform ones: against cases whose answer is known."""

import math

import pytest
import torch

import augerino as ag
from augerino.paper.diagnostics.haar import (
    ROTATIONS,
    haar_angle_cdf,
    haar_deviation,
    rotation_angle,
)


def deviation(
    distribution: ag.LearnedDistribution, **options
) -> ag.paper.diagnostics.HaarDeviation:
    return haar_deviation(ag.Augmentation(ag.Affine3d(*ROTATIONS), distribution), **options)


def test_uniform_rotations_have_zero_deviation():
    found = deviation(ag.Haar())
    assert found.kolmogorov < 0.002 and found.wasserstein < 0.1 and found.mean_matrix < 0.002
    assert found.drawn == pytest.approx(found.haar, abs=0.002)


def test_no_rotation_deviates_as_far_as_one_can():
    found = deviation(ag.Uniform([1e-9] * 3))
    assert found.kolmogorov == pytest.approx(1, abs=1e-6) and found.mean_matrix == pytest.approx(1)
    assert found.wasserstein == pytest.approx(
        math.degrees(math.pi / 2 + 2 / math.pi), abs=0.1
    )  # the mean angle


def test_a_box_of_half_a_turn_is_far_off_and_a_smaller_one_is_nearer():
    half_turn, smaller = deviation(ag.Uniform([math.pi] * 3)), deviation(ag.Uniform([2.34] * 3))
    assert half_turn.kolmogorov == pytest.approx(
        0.159, abs=0.002
    ) and half_turn.wasserstein == pytest.approx(13.5, abs=0.2)
    assert (
        smaller.kolmogorov < half_turn.kolmogorov / 3
        and smaller.wasserstein < half_turn.wasserstein / 3
    )


def test_the_axis_counts_in_the_mean_matrix():
    """The mean of all rotations about one axis projects on it: norm 1 of the identity's √3."""
    found = deviation(ag.Uniform([1e-9, 1e-9, math.pi]))
    assert found.mean_matrix == pytest.approx(1 / math.sqrt(3), abs=1e-3)
    assert found.kolmogorov == pytest.approx(
        1 / math.pi, abs=1e-3
    )  # angles uniform, instead of 1 - cos


def test_the_angle_is_that_of_the_matrix_however_often_it_winds():
    t = torch.randn(200, 3, dtype=torch.float64) * 10
    matrix = ag.Affine3d(*ROTATIONS).matrix(t)[:, :3, :3]
    cosine = (matrix.diagonal(dim1=1, dim2=2).sum(1) - 1) / 2
    assert torch.allclose(rotation_angle(t).cos(), cosine, atol=1e-9)
    assert haar_angle_cdf(torch.tensor([0.0, math.pi])).tolist() == pytest.approx([0, 1])


def test_other_coordinates_and_their_order_do_not_matter():
    names = ("scale", "rotate_z", "translate_x", "rotate_x", "rotate_y")
    more = ag.Augmentation(
        ag.On("positions", ag.Affine3d(*names), where="mask"), ag.Uniform([0.3, 2.0, 5.0, 2.0, 2.0])
    )
    assert haar_deviation(more).kolmogorov == pytest.approx(
        deviation(ag.Uniform([2.0] * 3)).kolmogorov, abs=0.003
    )


def test_without_three_rotations_there_is_nothing_to_compare():
    with pytest.raises(ag.InputError, match="has no 'rotate_y'"):
        haar_deviation(ag.Augmentation(ag.Affine3d("rotate_x", "rotate_z"), ag.Uniform([0.1, 0.1])))
