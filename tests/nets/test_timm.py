"""Unchanged networks of timm, a ResNet and a ViT, are averaged, trained and evaluated."""

import pytest
import torch
import torch.nn.functional as F

import augerino as ag
from tests.conftest import need

pytestmark = pytest.mark.extras
NETS = {
    "resnet10t": {},
    "vit_tiny_patch16_224": {
        "img_size": 32,
        "patch_size": 8,
        "embed_dim": 24,
        "depth": 2,
        "num_heads": 2,
    },
}


@pytest.fixture(params=list(NETS))
def net(request):
    need("timm")
    import timm

    return timm.create_model(request.param, pretrained=False, num_classes=3, **NETS[request.param])


def rotation(bound=0.5):
    return ag.Augmentation(ag.Affine2d("rotate", "scale"), ag.Uniform([bound, 0.1]))


def test_gradients_reach_weights_and_bounds(net):
    model = ag.InvariantModel(net, rotation(), average=ag.mean_log_prob, train_copies=2)
    said = model(torch.rand(4, 3, 32, 32))
    assert said.shape == (4, 3)
    F.nll_loss(said, torch.tensor([0, 1, 2, 0])).backward()
    assert model.augmentation.distribution.raw_bound.grad.abs().min() > 0
    assert all(p.grad is not None for p in net.parameters())


def test_a_model_without_extent_is_the_network(net):
    model = ag.InvariantModel(
        net, ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1e-9])), average=ag.mean_log_prob
    ).eval()
    x = torch.rand(2, 3, 32, 32)
    assert torch.allclose(model(x), net(x).log_softmax(dim=1), atol=1e-4)


@pytest.mark.parametrize("method", ["gradient", "probe"])
def test_both_ways_of_learning_run(net, method):
    x, y = torch.rand(64, 3, 32, 32), torch.arange(64) % 3
    learned = ag.learn(net, (x, y), augmentation=rotation(), method=method, epochs=1, batch_size=16)
    assert learned.n_outputs == 3 and set(learned.extent) == {"rotate", "scale"}
    assert learned.evaluate((x, y)).n_items == 64
