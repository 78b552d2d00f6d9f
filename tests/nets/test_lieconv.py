"""LieConv: T(3) is invariant to translations, both groups to order and padding."""

import pytest
import torch

import augerino as ag
from augerino.nets.lieconv import (
    QM9_SPECIES,
    LieConv,
    LieResNet,
    NearestNeighbours,
    nearest_points,
    rows_by_size,
)

BOTH = pytest.mark.parametrize("group", ["trivial", "T3"])
SEEING = pytest.mark.parametrize("neighbours", [None, 4])
MODES = pytest.mark.parametrize("training", [True, False])


def molecules(
    counts: list[int], points: int, filling: float = 0.0, dtype: torch.dtype = torch.float64
) -> dict[str, torch.Tensor]:
    mask = torch.arange(points) < torch.tensor(counts)[:, None]
    generator = torch.Generator().manual_seed(1)
    positions = 2 * torch.randn(len(counts), 40, 3, dtype=dtype, generator=generator)[:, :points]
    charges = torch.tensor(QM9_SPECIES)[
        torch.randint(0, 5, (len(counts), 40), generator=generator)
    ][:, :points]
    return {
        "positions": torch.where(mask[..., None], positions, filling),
        "charges": torch.where(mask, charges, 0),
        "mask": mask,
    }


def small(group: str, neighbours: int | None = None, **options: int) -> LieResNet:
    torch.manual_seed(0)
    net = LieResNet(2, group=group, width=16, layers=2, neighbours=neighbours, **options).double()
    for _ in range(20):
        net(molecules([7, 2, 3, 6, 4, 5], 7))  # batch norm finds its statistics
    return net


@MODES
@SEEING
def test_translations_change_nothing_for_t3_and_much_for_trivial(neighbours, training):
    batch = molecules([7, 3, 5, 1], 7)
    moved = {
        **batch,
        "positions": batch["positions"] + torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64),
    }
    t3, trivial = (small(group, neighbours).train(training) for group in ("T3", "trivial"))
    assert (t3(batch) - t3(moved)).abs().max() < 1e-10
    assert (t3.float()(_single(batch)) - t3(_single(moved))).abs().max() < 1e-5
    assert (trivial(batch) - trivial(moved)).abs().max() > 1e-3


def _single(batch):
    return {**batch, "positions": batch["positions"].float()}


@BOTH
def test_rotations_must_be_learned(group):
    batch = molecules([7, 3, 5], 7)
    turned = ag.On("positions", ag.Affine3d("rotate_z"))(batch, torch.full((3, 1), 1.0))
    net = small(group).eval()
    assert (net(batch) - net(turned)).abs().max() > 1e-3


@BOTH
@SEEING
@MODES
def test_the_order_of_the_atoms_changes_nothing(group, neighbours, training):
    net, batch, order = (
        small(group, neighbours).train(training),
        molecules([7, 3, 5, 1], 7),
        torch.randperm(7),
    )
    assert torch.allclose(net(batch), net({key: value[:, order] for key, value in batch.items()}))


@BOTH
@SEEING
@MODES
def test_padding_changes_nothing_and_leaves_no_trace(group, neighbours, training):
    net, other = (small(group, neighbours).train(training) for _ in range(2))
    expected = net(molecules([6, 3, 6, 5], 6))
    assert torch.allclose(other(molecules([6, 3, 6, 5], 11, filling=7.0)), expected)
    for a, b in zip(net.buffers(), other.buffers(), strict=True):
        assert torch.allclose(a, b)  # the running statistics of batch norm among them


@BOTH
@SEEING
def test_a_batch_is_a_set_of_molecules(group, neighbours):
    net, batch = small(group, neighbours).eval(), molecules([7, 3, 7, 1, 3], 7)
    alone = [net({key: value[i : i + 1] for key, value in batch.items()}) for i in range(5)]
    assert torch.allclose(net(batch), torch.cat(alone))


@BOTH
def test_without_a_mask_every_point_is_there(group):
    net, batch = small(group), molecules([6, 6, 6], 6)
    assert torch.allclose(net(batch), net({key: batch[key] for key in ("positions", "charges")}))


def test_clouds_without_charges_are_positions_alone():
    net = LieResNet(3, group="trivial", width=8, layers=1, species=())
    assert net(torch.randn(2, 9, 3)).shape == (2, 3)
    assert torch.equal(net.eval()(torch.ones(2, 9, 3)), net({"positions": torch.ones(2, 9, 3)}))


def test_enough_neighbours_are_all():
    batch, everybody = molecules([7, 4, 6], 7), small("T3").eval()
    nearest = small("T3", 6).eval()
    nearest.load_state_dict(everybody.state_dict())
    assert not torch.allclose(
        nearest(batch)[0], everybody(batch)[0], atol=1e-6
    )  # seven atoms, six seen
    assert torch.allclose(nearest(batch)[1:], everybody(batch)[1:])


def test_the_nearest_are_the_nearest_real_points():
    positions = torch.tensor([[[0.0, 0, 0], [1.0, 0, 0], [5.0, 0, 0], [0.1, 0, 0]]])
    mask = torch.tensor([[True, True, True, False]])
    nearest, near = nearest_points(positions, mask, 2)
    assert nearest[0, :3].tolist() == [[0, 1], [1, 0], [2, 1]] and near[0, :3].all()
    assert nearest_points(positions, mask, 4)[1][0, 0].tolist() == [True, True, True, False]


@SEEING
def test_a_convolution_is_the_mean_of_kernel_times_values_over_neighbours(neighbours):
    """Against the definition, with the kernel matrix of every pair written out."""
    batch = molecules([5, 2], 5)
    conv = LieConv(3, 4, pair_features=3, kernel_width=8, kernel_outputs=6).double()
    positions, mask = batch["positions"], batch["mask"]
    seen, values, got = [], torch.randn(2, 5, 3, dtype=torch.float64), None
    net = small("T3", neighbours)

    class Spy(torch.nn.Module):
        def forward(self, x, near):
            seen.append(near)
            return x

    net.blocks[0] = Spy()
    net(batch)
    rows, _ = rows_by_size(mask)
    got = conv(values.flatten(0, 1)[rows], seen[0])
    assert isinstance(seen[0], NearestNeighbours) == (neighbours is not None)
    weight = conv.mix.weight.view(4, 6, 3)
    for row, h in zip(rows.tolist(), got, strict=True):
        item, i = divmod(row, 5)
        others = [j for j in range(5) if mask[item, j]]
        others = sorted(
            others, key=lambda j: (positions[item, i] - positions[item, j]).norm().item()
        )[:neighbours]
        terms = []
        for j in others:
            matrix = torch.einsum(
                "omc,m->oc", weight, conv.kernel((positions[item, i] - positions[item, j])[None])[0]
            )
            terms.append(matrix @ values[item, j])
        assert torch.allclose(h, torch.stack(terms).mean(0) + conv.mix.bias)


@BOTH
@SEEING
def test_gradients_are_finite_and_reach_everything_but_padding(group, neighbours):
    net, batch = small(group, neighbours), molecules([7, 3, 1], 7)
    batch["positions"].requires_grad_()
    net(batch).square().sum().backward()
    gradient = batch["positions"].grad
    assert gradient[~batch["mask"]].abs().max() == 0 and gradient[0].abs().min() > 0
    assert all(
        parameter.grad is not None and parameter.grad.isfinite().all()
        for parameter in net.parameters()
    )


@BOTH
@MODES
def test_one_atom_and_no_atom(group, training):
    net = small(group).train(training)
    assert net(molecules([1], 1)).isfinite().all()
    assert net(molecules([4, 0, 2], 4)).isfinite().all()


def test_width_and_depth_are_chosen():
    def count(**options):
        return sum(parameter.numel() for parameter in LieResNet(1, **options).parameters())

    assert count(width=64, layers=2) < count(width=64, layers=3) < count(width=128, layers=3)
    with torch.device("meta"):
        assert 5e6 < count(width=1536, layers=6) < 3e7  # the paper's
    net = LieResNet(1, width=12, layers=1, group="trivial", neighbours=3, species=(1, 8))
    again = LieResNet(**net.settings())
    again.load_state_dict(net.state_dict())
    batch = {"positions": torch.randn(2, 5, 3), "charges": torch.tensor([[8, 1, 1, 1, 8]] * 2)}
    assert torch.equal(again.eval()(batch), net.eval()(batch))


def test_invalid_settings_and_atoms_are_rejected():
    with pytest.raises(ValueError, match="one of trivial, T3, but got 'SE3'"):
        LieResNet(1, group="SE3")
    with pytest.raises(ValueError, match="neighbours must be at least 1"):
        LieResNet(1, neighbours=0)
    with pytest.raises(ValueError, match="1 to 1000 layers"):
        LieResNet(1, layers=10**9)
    batch = molecules([3, 3], 3)
    with pytest.raises(
        ValueError, match=r"species \[1, 6, 7, 8, 9\], but the input has an atom of charge 17"
    ):
        small("T3")({**batch, "charges": batch["charges"].clone().fill_(17)})


def test_it_learns_under_an_augmentation():
    augment = ag.Augmentation(
        ag.On("positions", ag.Affine3d(), where="mask"), ag.Uniform([0.1] * 9)
    )
    model = ag.InvariantModel(small("trivial").float(), augment, train_copies=2)
    model(molecules([7, 3, 5, 1], 7, dtype=torch.float32)).square().sum().backward()
    assert augment.distribution.raw_bound.grad.abs().min() > 0
