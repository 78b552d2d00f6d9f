"""LieConv (Finzi et al. 2020): a residual network of convolutions on points in space, for molecules and point clouds.

A convolution's kernel is a small network of where two points are to each other. For a group G acting on space it sees
log(v^-1 u), the difference of the two in the Lie algebra, and the orbits q of both (the paper's Section 4):

- **T(3)**: all of space is one orbit, and the difference is x_i - x_j. The network is invariant to translations.
- **trivial**: there is no difference to take, every point is an orbit of its own, q = x, and the kernel sees x_i and x_j as they
  are. The network is invariant to nothing but the order of the points.

Points that are padding are taken out at the door: all layers work on the rows of real points alone, one item behind the other, so
that batch norm needs no mask, and pairs with padding cost nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

QM9_SPECIES = (1, 6, 7, 8, 9)
_GROUPS = {"trivial": 6, "T3": 3}  # how many numbers the kernel sees of a pair


class Neighbourhoods(Protocol):
    """Which points see which, and what the kernel is told of each such pair."""

    pairs: Tensor  # (pairs, 3) or (pairs, 6)

    def gather(self, kernel: Tensor, values: Tensor) -> Tensor:
        """The mean over each point's neighbours j of kernel_j ⊗ values_j.

        kernel: (pairs, m)   values: (rows, c)   returns (rows, m·c)
        """
        ...


class Everybody:
    """Every point sees all points of its item, itself included.   points: (rows, 3)

    Items with the same number of points are multiplied in one go, so that no product is taken with padding.

    Args:
        points: the positions of the rows.
        sizes: how many items there are of how many points, in the order of the rows.
        group: that the differences are taken in.
    """

    def __init__(self, points: Tensor, sizes: list[tuple[int, int]], group: str) -> None:
        self.sizes, pairs = sizes, []
        for (items, size), block in zip(
            sizes, points.split([items * size for items, size in sizes]), strict=True
        ):
            x = block.view(items, size, 3)
            both = (items, size, size, 3)
            pairs.append(
                _seen(x[:, None].expand(both), x[:, :, None].expand(both), group).view(
                    items * size * size, -1
                )
            )
        self.pairs = torch.cat(pairs)  # by item, then neighbour, then centre
        share = [points.new_full((items * size, 1), 1 / size) for items, size in sizes]
        self.share = torch.cat(share)

    def gather(self, kernel: Tensor, values: Tensor) -> Tensor:
        kernels = kernel.split([items * size * size for items, size in self.sizes])
        parts = (values * self.share).split([items * size for items, size in self.sizes])
        mixed = []
        for (items, size), s, f in zip(self.sizes, kernels, parts, strict=True):
            product = torch.bmm(
                s.view(items, size, -1).mT, f.view(items, size, -1)
            )  # (items, size·m, c)
            mixed.append(product.view(items * size, -1))
        return torch.cat(mixed)


class Nearest:
    """Every point sees the nearest points of its item, itself included.   positions: (B, N, 3)   there: (B, N)   rows: (rows,)"""

    def __init__(
        self, positions: Tensor, there: Tensor, rows: Tensor, group: str, neighbours: int
    ) -> None:
        items, points = positions.shape[:2]
        nearest, near = (
            x.flatten(0, 1).index_select(0, rows)
            for x in nearest_points(positions, there, neighbours)
        )
        number = torch.zeros(
            items * points, dtype=torch.long, device=rows.device
        )  # of a place, among the rows
        number[rows] = torch.arange(len(rows), device=rows.device)
        first = rows.div(points, rounding_mode="floor")[:, None] * points
        self.seen = number[nearest + first]  # (rows, neighbours)
        centre = positions.flatten(0, 1).index_select(0, rows)
        other = centre.index_select(0, self.seen.flatten()).view(*self.seen.shape, 3)
        self.pairs = _seen(centre[:, None].expand_as(other), other, group).flatten(0, 1)
        weight = near.to(
            positions.dtype
        )  # an item may have fewer points than neighbours are wanted
        self.weight = weight / weight.sum(1, keepdim=True).clamp_min(1)

    def gather(self, kernel: Tensor, values: Tensor) -> Tensor:
        kernel = kernel.view(*self.seen.shape, -1) * self.weight[..., None]
        around = values.index_select(0, self.seen.flatten()).view(*self.seen.shape, -1)
        return torch.bmm(kernel.mT, around).flatten(1)


def nearest_points(positions: Tensor, there: Tensor, neighbours: int) -> tuple[Tensor, Tensor]:
    """The places of the nearest points, and which of these are points: an item may have fewer.

    positions: (B, N, 3)   there: (B, N)   returns two of (B, N, neighbours)

    Distances are taken for a few points at a time, so that no more of them are held than a small multiple of B·N·neighbours.
    """
    found = []
    with torch.no_grad():
        for some in positions.split(4 * neighbours, dim=1):
            distance = (some[:, :, None] - positions[:, None]).square().sum(-1)
            distance = distance.masked_fill(~there[:, None], torch.inf)
            found.append(distance.topk(neighbours, largest=False))
        nearest = torch.cat([part.indices for part in found], dim=1)
        near = torch.cat([part.values for part in found], dim=1).isfinite()
    return nearest, near


def _seen(centre: Tensor, other: Tensor, group: str) -> Tensor:
    return centre - other if group == "T3" else torch.cat([centre, other], dim=-1)


def rows_by_size(mask: Tensor) -> tuple[Tensor, list[tuple[int, int]]]:
    """The places of real points in a flat batch (B·N), items with fewer points first; and how many items have how many."""
    count = mask.sum(1)
    order = count.argsort(stable=True)
    item, point = mask[order].nonzero(as_tuple=True)
    sizes, items = count[order].unique_consecutive(return_counts=True)
    known = [(k, size) for k, size in zip(items.tolist(), sizes.tolist(), strict=True) if size]
    return order[item] * mask.shape[1] + point, known


class _NarrowLinear(nn.Module):
    """A linear layer of a few inputs, whose weight is stored (before, after): its gradient is several times as fast that way."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        bound = before**-0.5  # as torch's own linear layer starts
        self.weight = nn.Parameter(torch.empty(before, after).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(after).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight)


class LieConv(nn.Module):
    r"""One convolution, \(h_i = \frac1n \sum_j k(a_{ij}) f_j\), whose kernel is a network of the pair.   (rows, c) -> (rows, c')

    The kernel's last layer is linear, \(k^{\alpha\beta} = \sum_\gamma W^{\alpha\beta}_\gamma s^\gamma\), and is applied after the
    sum over neighbours, \(h_i^\alpha = \sum_{\beta\gamma} W^{\alpha\beta}_\gamma \frac1n \sum_j s^\gamma(a_{ij}) f_j^\beta\), so
    that no kernel matrix is ever formed for a pair (the paper's Appendix A.1, after PointConv).

    Args:
        before: channels of the values.
        after: channels that come out.
        seen: numbers the kernel sees of a pair.
        kernel_width: of the kernel's two hidden layers.
        kernel_outputs: how many functions s of the pair there are.
    """

    def __init__(
        self, before: int, after: int, *, seen: int, kernel_width: int, kernel_outputs: int
    ) -> None:
        super().__init__()
        self.kernel = nn.Sequential(
            *(_NarrowLinear(seen, kernel_width), nn.SiLU()),
            *(nn.Linear(kernel_width, kernel_width), nn.SiLU()),
            *(nn.Linear(kernel_width, kernel_outputs), nn.SiLU()),
        )
        self.mix = nn.Linear(kernel_outputs * before, after)

    def forward(self, values: Tensor, near: Neighbourhoods) -> Tensor:
        return self.mix(near.gather(self.kernel(near.pairs), values))


class RowNorm(nn.BatchNorm1d):
    """Batch norm over rows; a single row, of which there is no variance, is normalised as in evaluation."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) < 2:
            return F.batch_norm(
                x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps
            )
        return super().forward(x)


class BottleneckBlock(nn.Module):
    """x + linear(LieConv(linear(x))), each after batch norm and swish, with a quarter of the channels inside."""

    def __init__(self, width: int, **kernel: int) -> None:
        super().__init__()
        inside = max(1, width // 4)
        self.norms = nn.ModuleList(RowNorm(channels) for channels in (width, inside, inside))
        self.shrink, self.grow = nn.Linear(width, inside), nn.Linear(inside, width)
        self.conv = LieConv(inside, inside, **kernel)

    def forward(self, x: Tensor, near: Neighbourhoods) -> Tensor:
        inside = self.shrink(F.silu(self.norms[0](x)))
        inside = self.conv(F.silu(self.norms[1](inside)), near)
        return x + self.grow(F.silu(self.norms[2](inside)))


class LieResNet(nn.Module):
    """A LieConv network on molecules or point clouds: bottleneck blocks, then the mean over all points.   -> (B, outputs)

    Takes positions (B, N, 3), or a dict of "positions" and, as they come, "charges" (B, N), atomic numbers, and a "mask"
    (B, N) that is true where there is a point. Neither the order of the points nor padding changes anything.

    An atom's features are its species, one-hot, times 1, c and c², with its charge c as a share of the largest
    (Anderson et al. 2019, "Cormorant"). Points without species all have the feature 1.

    Memory and time grow as B·N·neighbours·(kernel_width + kernel_outputs), and hold no product of two of the channel counts.

    Reference: Finzi, Stanton, Izmailov, Wilson (2020), "Generalizing Convolutional Neural Networks for Equivariance to Lie
    Groups on Arbitrary Continuous Data"; for QM9 it has width 1536 and 6 layers.

    Args:
        outputs: of the head.
        group: "T3" is invariant to translations, "trivial" to nothing.
        width: channels of the values (the paper's k); a quarter of it inside the blocks.
        layers: how many blocks.
        species: atomic numbers that occur; empty for points without charges.
        neighbours: how many nearest points each point sees; None for all of its item.
        kernel_width: of the kernels' hidden layers.
        kernel_outputs: of the kernels, before they are mixed with the channels.

    Example:
        >>> net = LieResNet(1, group="T3", width=16, layers=1).eval()
        >>> water = {"positions": torch.randn(1, 3, 3), "charges": torch.tensor([[8, 1, 1]])}
        >>> moved = {**water, "positions": water["positions"] + 1}
        >>> net(water).shape, torch.allclose(net(water), net(moved), atol=1e-5)
        (torch.Size([1, 1]), True)
    """

    charge_of: Tensor

    def __init__(
        self,
        outputs: int,
        *,
        group: str = "T3",
        width: int = 128,
        layers: int = 4,
        species: Sequence[int] = QM9_SPECIES,
        neighbours: int | None = None,
        kernel_width: int = 32,
        kernel_outputs: int = 16,
    ) -> None:
        super().__init__()
        if group not in _GROUPS:
            raise ValueError(
                f"The group of a LieResNet is one of {', '.join(_GROUPS)}, but got '{group}'."
            )
        if neighbours is not None and neighbours < 1:
            raise ValueError(
                f"A point needs at least one neighbour, itself, but neighbours is {neighbours}."
            )
        if not 1 <= layers <= 1000:
            raise ValueError(f"A LieResNet has 1 to 1000 layers, but got {layers}.")
        self._settings = {
            **{
                "outputs": outputs,
                "group": group,
                "width": width,
                "layers": layers,
                "species": list(species),
            },
            **{
                "neighbours": neighbours,
                "kernel_width": kernel_width,
                "kernel_outputs": kernel_outputs,
            },
        }
        self.group, self.neighbours = group, neighbours
        self.register_buffer(
            "charge_of", torch.tensor(list(species), dtype=torch.long), persistent=False
        )
        kernel = {
            "seen": _GROUPS[group],
            "kernel_width": kernel_width,
            "kernel_outputs": kernel_outputs,
        }
        self.lift = nn.Linear(3 * len(species) or 1, width)
        self.blocks = nn.ModuleList(BottleneckBlock(width, **kernel) for _ in range(layers))
        self.norm, self.head = RowNorm(width), nn.Linear(width, outputs)

    def settings(self) -> dict[str, object]:
        """The constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor | Mapping[str, Tensor]) -> Tensor:
        cloud = {"positions": x} if isinstance(x, Tensor) else x
        # Differences of positions and their kernels need float32: half precision is coarse here, and on a CPU slower as well.
        with torch.autocast(cloud["positions"].device.type, enabled=False):
            return self._predict(cloud)

    def _predict(self, cloud: Mapping[str, Tensor]) -> Tensor:
        positions, mask = cloud["positions"], cloud.get("mask")
        items, points = positions.shape[:2]
        if mask is None:
            rows, sizes = torch.arange(items * points, device=positions.device), [(items, points)]
            mask = positions.new_ones(items, points, dtype=torch.bool)
        else:
            rows, sizes = rows_by_size(mask.bool())
        near: Neighbourhoods
        if self.neighbours is None or self.neighbours >= points:
            near = Everybody(positions.flatten(0, 1).index_select(0, rows), sizes, self.group)
        else:
            near = Nearest(positions, mask.bool(), rows, self.group, self.neighbours)
        values = self.lift(self.features(cloud, rows))
        for block in self.blocks:
            values = block(values, near)
        scores = self.head(F.silu(self.norm(values)))
        total = scores.new_zeros(items, scores.shape[1]).index_add_(
            0, rows.div(points, rounding_mode="floor"), scores
        )
        return total / mask.sum(1, keepdim=True).clamp_min(1)

    def features(self, cloud: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        """What is known of each real point but where it is, (rows, 3·species)."""
        like = self.lift.weight
        if not len(self.charge_of):
            return like.new_ones(len(rows), 1)
        charges = cloud["charges"].flatten().index_select(0, rows)
        one_hot = charges[:, None] == self.charge_of
        if not torch.compiler.is_compiling() and not one_hot.any(1).all():
            unknown = charges[~one_hot.any(1)][0].item()
            raise ValueError(
                f"A LieResNet for the species {self.charge_of.tolist()} met an atom of charge {unknown:g}."
            )
        share = charges.to(like.dtype)[:, None] / self.charge_of.max()
        powers = torch.cat([torch.ones_like(share), share, share.square()], dim=1)
        return (one_hot[:, :, None] * powers[:, None]).flatten(1)
