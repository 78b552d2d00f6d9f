"""Vectors transform like differences of points."""

import pytest
import torch

import augerino as ag
from augerino.testing import check_transform
from augerino.transforms import Compose


def test_differences_of_points_in_space_are_vectors():
    affine, t = ag.Affine3d(), torch.randn(4, 9, dtype=torch.float64)
    p, q = torch.randn(2, 4, 6, 3, dtype=torch.float64)
    assert torch.allclose(ag.Vectors(affine)(p - q, t), affine(p, t) - affine(q, t), atol=1e-9)
    assert torch.allclose(
        ag.Vectors(affine)((p - q)[:, 0], t), (affine(p, t) - affine(q, t))[:, 0], atol=1e-9
    )


@pytest.mark.parametrize(
    "transform",
    [
        ag.Affine2d("rotate", "translate_x", "shear"),
        ag.RotoTranslate2d(),
        Compose([ag.Affine2d("rotate", "scale"), ag.Flip("vertical")]),
    ],
)
def test_differences_of_points_in_an_image_are_vectors(transform):
    points = ag.Keypoints(transform, (20, 30))
    t = torch.randn(4, 3, dtype=torch.float64)
    t[:, -1] = 1  # flips, if this coordinate is a flip
    p, q = torch.randn(2, 4, 6, 2, dtype=torch.float64)
    assert torch.allclose(ag.Vectors(transform)(p - q, t), points(p, t) - points(q, t), atol=1e-9)


@pytest.mark.parametrize(
    "transform",
    [ag.Affine3d(), ag.Affine2d(), ag.RotoTranslate2d()],
    ids=lambda t: type(t).__name__,
)
@pytest.mark.parametrize("rows", [(), (4,)])
def test_vectors_satisfy_the_laws_of_transforms(transform, rows):
    action = ag.Vectors(transform)
    t = torch.randn(3, len(transform.names), dtype=torch.float64)
    check_transform(
        action,
        torch.randn(3, *rows, action.dimension, dtype=torch.float64),
        t=t,
        inverse_tolerance=1e-9,
    )


def test_vectors_of_another_dimension_are_rejected():
    with pytest.raises(
        ag.InputError,
        match=r"Vectors needs floating-point vectors \(B, N, 3\) or \(B, 3\), but got \(2, 4, 2\)",
    ):
        ag.Vectors(ag.Affine3d("rotate_z"))(torch.rand(2, 4, 2), torch.zeros(2, 1))


def test_averaging_leaves_equivariant_forces_unchanged():
    """For an equivariant network, the average over the group changes nothing."""

    class Springs(torch.nn.Module):
        def forward(self, batch):
            p = batch["positions"]
            apart = p[:, None] - p[:, :, None]
            return (apart * (apart.square().sum(-1, keepdim=True) - 1)).sum(2)

    turn = ag.Affine3d("rotate_x", "rotate_y", "rotate_z", "translate_x")
    augmentation = ag.Augmentation(ag.On("positions", turn), ag.Uniform([3.0] * 4))
    x = {"positions": torch.randn(5, 4, 3, dtype=torch.float64)}
    model = ag.EquivariantModel(
        Springs(), augmentation.double(), action=ag.Vectors(turn), test_copies=3
    ).eval()
    assert torch.allclose(model(x), Springs()(x), atol=1e-6)
    assert not torch.allclose(
        ag.InvariantModel(Springs(), augmentation, test_copies=3).eval()(x), Springs()(x), atol=0.1
    )
