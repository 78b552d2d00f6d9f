"""FC-DenseNet: published sizes, any image size, and checkpointing that changes no result."""

import pytest
import torch

from augerino.nets.fc_densenet import NAMED, FCDenseNet

TINY = {"growth": 3, "layers": (2, 1, 2, 2, 1), "first": 5}


def numbers(net):
    """The count of the authors' code: all saved numbers, running statistics included."""
    return sum(
        value.numel()
        for name, value in net.state_dict().items()
        if not name.endswith("num_batches_tracked")
    )


@pytest.mark.parametrize(
    ("name", "counted", "published"),
    # The authors' own code makes 1.4 million of FC-DenseNet56, where their paper's table says 1.5.
    [
        ("fc_densenet56", 1_397_963, 1.4),
        ("fc_densenet67", 3_502_923, 3.5),
        ("fc_densenet103", 9_425_163, 9.4),
    ],
)
def test_the_published_networks_have_their_published_sizes(name, counted, published):
    with torch.device("meta"):
        assert numbers(NAMED[name](3, 11)) == counted and round(counted / 1e6, 1) == published
        assert round(numbers(NAMED[name](3, 12)) / 1e6, 1) == published
        convolutions = [
            m
            for m in NAMED[name](3, 11).modules()
            if isinstance(m, torch.nn.Conv2d | torch.nn.ConvTranspose2d)
        ]
    assert len(convolutions) == int(name.removeprefix("fc_densenet"))  # the number in its name


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (2, 3), (15, 17), (16, 16), (33, 20)])
def test_every_pixel_gets_its_scores(size):
    net = FCDenseNet(3, 5, **TINY)
    assert net(torch.randn(2, 3, *size)).shape == (2, 5, *size)
    assert net.eval()(torch.randn(1, 3, *size)).shape == (1, 5, *size)


def test_a_pixel_sees_itself_and_its_surroundings_on_every_side():
    net, x = (
        FCDenseNet(1, 1, **TINY).double().eval(),
        torch.randn(1, 1, 48, 48, dtype=torch.float64, requires_grad=True),
    )
    (gradient,) = torch.autograd.grad(net(x)[0, 0, 24, 24], x)
    assert gradient[0, 0, 24, 24] != 0
    for side in (
        gradient[..., :19, 24],
        gradient[..., 30:, 24],
        gradient[..., 24, :19],
        gradient[..., 24, 30:],
    ):
        assert side.abs().max() > 0


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_checkpointing_changes_neither_outputs_nor_gradients_nor_statistics(dropout):
    plain, saving = (
        FCDenseNet(2, 3, **TINY, dropout=dropout, checkpointing=flag).double()
        for flag in (False, True)
    )
    saving.load_state_dict(plain.state_dict())
    x = torch.randn(2, 2, 12, 10, dtype=torch.float64)
    found = []
    for net in (plain, saving):
        torch.manual_seed(1)
        moved = x.clone().requires_grad_()
        y = net(moved)
        y.square().sum().backward()
        found.append(
            [
                y.detach(),
                moved.grad,
                *(p.grad for p in net.parameters()),
                *net.state_dict().values(),
            ]
        )
    assert all(torch.allclose(a, b, rtol=1e-12, atol=1e-12) for a, b in zip(*found, strict=True))


def test_checkpointing_keeps_less_for_the_gradient():
    kept = []
    for flag in (False, True):
        net, total = FCDenseNet(2, 3, **TINY, checkpointing=flag), []
        with torch.autograd.graph.saved_tensors_hooks(
            lambda t, total=total: total.append(t.numel()) or t, lambda t: t
        ):
            net(torch.randn(2, 2, 16, 16)).sum()
        kept.append(sum(total))
    assert kept[1] < kept[0] / 2


def test_dropout_is_the_papers_and_can_be_left_out():
    x = torch.randn(2, 3, 8, 8)
    for dropout, same in ((None, False), (0.0, True)):
        net = FCDenseNet(3, 2, **TINY, **({} if dropout is None else {"dropout": dropout}))
        assert torch.equal(net(x), net(x)) is same
    assert {
        m.p for m in NAMED["fc_densenet67"](3, 11).modules() if isinstance(m, torch.nn.Dropout)
    } == {0.2}


@pytest.mark.parametrize("layers", [(), (2, 2), (2, 0, 2), (1,) * 23, (1, 10**9, 1)])
def test_impossible_blocks_are_rejected_before_allocation(layers):
    with pytest.raises(ValueError, match="odd number of counts"):
        FCDenseNet(3, 2, layers=layers)


def test_settings_rebuild_it():
    net = FCDenseNet(3, 2, **TINY, dropout=0.1, checkpointing=True)
    again = FCDenseNet(**net.settings())
    assert str(again) == str(net) and again.settings() == net.settings()


def test_it_learns_to_outline_a_square():
    x, y = torch.zeros(8, 1, 12, 12), torch.zeros(8, 12, 12, dtype=torch.long)
    for i in range(8):
        x[i, 0, i // 2 : i // 2 + 5, i : i + 4] = 1.0
        y[i, i // 2 : i // 2 + 5, i : i + 4] = 1
    net = FCDenseNet(1, 2, growth=4, layers=(2, 2, 2), first=8, dropout=0.0)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
    for _ in range(40):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
    assert (net(x).argmax(1) == y).float().mean() > 0.98
