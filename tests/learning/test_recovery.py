"""Recovery of known symmetries by the gradient: points on a circle, rotated by up to ±pi/4."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import augerino as ag


class Rotate(ag.LieTransform):
    """Rotations of points (B, 2)."""

    def __init__(self):
        rotate = ag.Coordinate("rotate", limit=math.pi)
        super().__init__([rotate], torch.tensor([[[0.0, -1.0], [1.0, 0.0]]]))

    def forward(self, x, t):
        return (self.matrix(t) @ x[:, :, None])[:, :, 0]


def circle(n=2000, extent=math.pi / 4):
    """Points within ±extent of the top (class 0) or the bottom (class 1) of the unit circle."""
    y = torch.arange(n) % 2
    angle = (2 * torch.rand(n) - 1) * extent + math.pi / 2 + math.pi * y
    return torch.stack([angle.cos(), angle.sin()], dim=1), y, angle


def train(x, y, loss, average, outputs, start, epochs=25, weight=0.02):
    net = nn.Sequential(
        nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, outputs)
    )
    augmentation = ag.Augmentation(Rotate(), ag.Uniform([start]))
    model = ag.InvariantModel(net, augmentation, average=average)
    optimizer = torch.optim.Adam(ag.param_groups(model, augmentation_lr=0.02), lr=0.01)
    loader = ag.data.Batches(x, y, 100)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * len(loader))
    objective = ag.Objective(loss, augmentation, reg_weight=weight)
    history = ag.fit(model, objective, loader, optimizer, epochs=epochs, scheduler=scheduler)
    return augmentation.extent["rotate"], history


@pytest.mark.parametrize("start", [0.1, math.pi / 4, 2.5], ids=["too narrow", "right", "too wide"])
def test_a_partial_symmetry_is_found_from_any_start(start):
    x, y, _ = circle()
    bound, history = train(x, y, F.nll_loss, ag.mean_log_prob, 2, start)
    assert bound == pytest.approx(math.pi / 4, rel=0.1)
    assert history.epochs[-1].loss < 0.05


def test_without_a_symmetry_the_bound_shrinks_to_zero():
    x, _, angle = circle()
    # The target is the pose itself, which every rotation changes.
    target = torch.stack([angle.sin(), angle.cos()], dim=1)
    bound, _ = train(x, target, F.mse_loss, ag.mean, 2, start=0.8, epochs=60)
    assert bound < 0.02 * math.pi


def test_a_full_symmetry_grows_to_the_limit():
    x, _, _ = circle(extent=math.pi / 2)
    radius = 1 + torch.arange(len(x)) // 2 % 2  # equally frequent at the top and at the bottom
    bound, _ = train(
        x * radius[:, None], radius - 1, F.nll_loss, ag.mean_log_prob, 2, start=0.3, epochs=40
    )
    assert bound > 0.9 * math.pi


def test_without_a_penalty_a_narrow_bound_does_not_grow():
    x, y, _ = circle()
    bound, _ = train(x, y, F.nll_loss, ag.mean_log_prob, 2, start=0.1, weight=0.0)
    assert bound < 0.2


def test_a_fixed_augmentation_is_a_learned_one_with_gradients_off():
    x, y, _ = circle(200)
    augmentation = ag.Augmentation(Rotate(), ag.Uniform([0.3])).requires_grad_(False)
    model = ag.InvariantModel(nn.Linear(2, 2), augmentation, average=ag.mean_log_prob)
    optimizer = torch.optim.Adam(ag.param_groups(model), lr=0.01)
    before = model.net.weight.detach().clone()
    ag.fit(
        model,
        ag.Objective(F.nll_loss, augmentation),
        ag.data.Batches(x, y, 50),
        optimizer,
        epochs=2,
    )
    assert augmentation.extent["rotate"] == pytest.approx(0.3)
    assert not torch.equal(before, model.net.weight)


HOOK = torch.tensor([[1.0, 1, 1], [1, 0, 0], [1, 0, 0]])
CROSS = torch.tensor([[1.0, 0, 0], [1, 1, 1], [1, 0, 0]])


def hooks(side_matters):
    """Small figures that face left or right; the label is the direction, or the kind of figure."""
    generator = torch.Generator().manual_seed(0)
    x = torch.zeros(256, 1, 10, 10)
    y = torch.randint(2, (256,), generator=generator)
    for i, label in enumerate(y.tolist()):
        left = label if side_matters else int(torch.randint(2, (), generator=generator))
        figure = HOOK if side_matters or label else CROSS
        down, across = torch.randint(1, 6, (2,), generator=generator).tolist()
        x[i, 0, down : down + 3, across : across + 3] = figure.flip(-1) if left else figure
    return x, y


@pytest.mark.parametrize(("side_matters", "low", "high"), [(True, 0.0, 0.05), (False, 0.45, 0.55)])
def test_a_flip_is_learned_or_unlearned(side_matters, low, high):
    learned = ag.learn(
        None, hooks(side_matters), coordinates="flip_horizontal", width=4, batch_size=64
    )
    probability = learned.augmentation.distribution.probability.item()
    assert low <= probability <= high
    (verdict,) = learned.verdicts(evidence=learned.evidence(hooks(side_matters), n_items=100))
    assert verdict.answer == ("none" if side_matters else "full")
