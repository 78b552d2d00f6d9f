"""The small network for point clouds: invariant to order and padding only."""

import pytest
import torch

from augerino.nets.points import SmallPointNet


def padded(x: torch.Tensor, counts: list[int], filling: float = 0.0) -> dict[str, torch.Tensor]:
    mask = torch.arange(x.shape[1]) < torch.tensor(counts)[:, None]
    return {"positions": torch.where(mask[..., None], x, filling), "mask": mask}


@pytest.mark.parametrize("training", [True, False])
def test_the_order_of_the_points_changes_nothing(training):
    net, x = (
        SmallPointNet(3, width=4).double().train(training),
        torch.randn(4, 9, 3, dtype=torch.float64),
    )
    order = torch.randperm(9)
    assert torch.allclose(net(x), net(x[:, order]))
    batch = padded(x, [9, 5, 3, 1])
    assert torch.allclose(net(batch), net({key: value[:, order] for key, value in batch.items()}))


@pytest.mark.parametrize("training", [True, False])
def test_padding_changes_nothing(training):
    net, x = (
        SmallPointNet(3, width=4).double().train(training),
        torch.randn(4, 6, 3, dtype=torch.float64),
    )
    longer = torch.cat([x, torch.randn(4, 5, 3, dtype=torch.float64)], dim=1)
    expected = net(x)
    assert torch.allclose(net({"positions": x}), expected)
    assert torch.allclose(net(padded(x, [6] * 4)), expected)
    assert torch.allclose(net(padded(longer, [6] * 4)), expected)
    assert torch.allclose(net(padded(longer, [6] * 4, filling=1e3)), expected)
    assert torch.allclose(
        net(padded(longer, [6] * 4) | {"mask": torch.arange(11).expand(4, -1) < 6}), expected
    )


def test_padding_leaves_no_trace_in_the_statistics():
    x = torch.randn(4, 6, 3)
    nets = [SmallPointNet(3, width=4) for _ in range(2)]
    nets[1].load_state_dict(nets[0].state_dict())
    nets[0](x)
    nets[1](padded(torch.cat([x, torch.randn(4, 5, 3)], dim=1), [6] * 4, filling=7.0))
    for a, b in zip(nets[0].buffers(), nets[1].buffers(), strict=True):
        assert torch.allclose(a, b, atol=1e-6)


def test_a_cloud_without_points_gives_finite_scores():
    batch = padded(torch.randn(3, 4, 3), [4, 0, 2])
    for training in (True, False):
        assert SmallPointNet(2, width=4).train(training)(batch).isfinite().all()


def test_features_count():
    net = SmallPointNet(2, width=4, features=5).eval()
    batch = {"positions": torch.randn(2, 7, 3), "features": torch.randn(2, 7, 5), "name": "cloud"}
    assert net(batch).shape == (2, 2)
    assert not torch.allclose(net(batch), net({**batch, "features": -batch["features"]}))


def test_nothing_is_invariant_that_has_not_been_learned():
    net, x = SmallPointNet(2, width=8).eval(), torch.randn(2, 9, 3)
    for moved in (x + torch.tensor([0.5, 0, 0]), x * 1.5, x[..., [1, 0, 2]]):
        assert not torch.allclose(net(x), net(moved), atol=1e-3)


def test_gradients_reach_positions_of_points_and_not_of_padding():
    batch = padded(torch.randn(2, 5, 3), [5, 2])
    batch["positions"].requires_grad_()
    (gradient,) = torch.autograd.grad(
        SmallPointNet(2, width=8)(batch).square().sum(), batch["positions"]
    )
    assert gradient[~batch["mask"]].abs().max() == 0 and gradient[0].abs().sum() > 0
