"""LieConv: a residual network of convolutions on points in space, for molecules and point clouds.

The kernel of a convolution is a small network of the relative position of two points. For a group G
it takes log(v^-1 u), the difference of the points in the Lie algebra, and the orbits q of both:

- **T(3)**: space is one orbit, and the difference is x_i - x_j. The network is invariant to
  translations.
- **trivial**: every point is its own orbit, q = x, and the kernel takes x_i and x_j themselves. The
  network is invariant only to the order of the points.

Padding is removed at the input. All layers work on the rows of real points, one item after another,
so that batch norm needs no mask and pairs with padding cost nothing.

Reference: Finzi, Stanton, Izmailov, Wilson (2020), "Generalizing Convolutional Neural Networks for
Equivariance to Lie Groups on Arbitrary Continuous Data", Section 4.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn

QM9_SPECIES = (1, 6, 7, 8, 9)
_PAIR_FEATURES = {"trivial": 6, "T3": 3}  # number of features of a pair, by group
_MAX_LAYERS = 1000  # settings may come from a damaged file


class Neighbourhoods(Protocol):
    """The neighbours of every point, and the features of each pair.

    Attributes:
        pairs: features of the pairs, (pairs, 3) for T3 or (pairs, 6) for trivial.
    """

    pairs: Tensor

    def aggregate(self, kernel: Tensor, values: Tensor) -> Tensor:
        """The mean over the neighbours j of each point of kernel_j ⊗ values_j.

        kernel: (pairs, m)   values: (rows, c)   returns (rows, m·c)
        """
        ...


class AllNeighbours:
    """Neighbourhoods of all points of the same item, the point itself included.

    Items with the same number of points are multiplied together, so that no product involves
    padding.

    Args:
        points: positions of the rows, (rows, 3).
        sizes: (number of items, points per item) of each block of rows, in order.
        group: "T3" or "trivial".
    """

    def __init__(self, points: Tensor, sizes: list[tuple[int, int]], group: str) -> None:
        self.sizes = sizes
        self._rows = [n_items * size for n_items, size in sizes]
        self._pairs = [n_items * size * size for n_items, size in sizes]
        pairs = []
        weights = []
        for (n_items, size), block in zip(sizes, points.split(self._rows), strict=True):
            x = block.view(n_items, size, 3)
            shape = (n_items, size, size, 3)
            centre = x[:, None].expand(shape)
            other = x[:, :, None].expand(shape)
            pairs.append(_pair_features(centre, other, group).view(n_items * size * size, -1))
            weights.append(points.new_full((n_items * size, 1), 1 / size))
        self.pairs = torch.cat(pairs)  # by item, then neighbour, then centre
        self.weight = torch.cat(weights)

    def aggregate(self, kernel: Tensor, values: Tensor) -> Tensor:
        """See `Neighbourhoods.aggregate`."""
        kernels = kernel.split(self._pairs)
        weighted = (values * self.weight).split(self._rows)
        products = []
        for (n_items, size), k, v in zip(self.sizes, kernels, weighted, strict=True):
            left = k.view(n_items, size, -1).mT
            right = v.view(n_items, size, -1)
            product = torch.bmm(left, right)  # (items, size·m, c)
            products.append(product.view(n_items * size, -1))
        return torch.cat(products)


class NearestNeighbours:
    """Neighbourhoods of the nearest points of the same item, the point itself included.

    Args:
        positions: (B, N, 3).
        mask: true at real points, (B, N).
        rows: indices of the real points in the flat batch, (rows,).
        group: "T3" or "trivial".
        neighbours: number of neighbours of each point.
    """

    def __init__(
        self, positions: Tensor, mask: Tensor, rows: Tensor, *, group: str, neighbours: int
    ) -> None:
        n_items, n_points = positions.shape[:2]
        nearest, is_real = nearest_points(positions, mask, neighbours)
        nearest = nearest.flatten(0, 1).index_select(0, rows)
        is_real = is_real.flatten(0, 1).index_select(0, rows)
        # Converts positions within an item to row numbers, via positions in the flat batch.
        row_of = torch.zeros(n_items * n_points, dtype=torch.long, device=rows.device)
        row_of[rows] = torch.arange(len(rows), device=rows.device)
        first = rows.div(n_points, rounding_mode="floor")[:, None] * n_points
        self.index = row_of[nearest + first]  # (rows, neighbours)
        centre = positions.flatten(0, 1).index_select(0, rows)
        other = centre.index_select(0, self.index.flatten()).view(*self.index.shape, 3)
        centre = centre[:, None].expand_as(other)
        self.pairs = _pair_features(centre, other, group).flatten(0, 1)
        weight = is_real.to(positions.dtype)  # an item may have fewer points than `neighbours`
        self.weight = weight / weight.sum(1, keepdim=True).clamp_min(1)

    def aggregate(self, kernel: Tensor, values: Tensor) -> Tensor:
        """See `Neighbourhoods.aggregate`."""
        kernel = kernel.view(*self.index.shape, -1) * self.weight[..., None]
        neighbours = values.index_select(0, self.index.flatten()).view(*self.index.shape, -1)
        return torch.bmm(kernel.mT, neighbours).flatten(1)


def nearest_points(positions: Tensor, mask: Tensor, neighbours: int) -> tuple[Tensor, Tensor]:
    """The indices of the nearest points, and which of them are real.

    Computes the distances of a few points at a time, so that memory stays a small multiple of
    B·N·neighbours.

    positions: (B, N, 3)   mask: (B, N)   returns two of (B, N, neighbours)
    """
    indices = []
    is_real = []
    with torch.no_grad():
        for part in positions.split(4 * neighbours, dim=1):
            distance = (part[:, :, None] - positions[:, None]).square().sum(-1)
            distance = distance.masked_fill(~mask[:, None], torch.inf)
            nearest = distance.topk(neighbours, largest=False)
            indices.append(nearest.indices)
            is_real.append(nearest.values.isfinite())
    return torch.cat(indices, dim=1), torch.cat(is_real, dim=1)


def _pair_features(centre: Tensor, other: Tensor, group: str) -> Tensor:
    if group == "T3":
        return centre - other
    return torch.cat([centre, other], dim=-1)


def rows_by_size(mask: Tensor) -> tuple[Tensor, list[tuple[int, int]]]:
    """Sorts the real points of a batch by the number of points of their item.

    Args:
        mask: true at real points, (B, N).

    Returns:
        The indices of the real points in the flat batch (B·N), smaller items first, and pairs of
        (number of items, points per item).
    """
    n_points = mask.sum(1)
    order = n_points.argsort(stable=True)
    item, point = mask[order].nonzero(as_tuple=True)
    rows = order[item] * mask.shape[1] + point
    sizes, counts = n_points[order].unique_consecutive(return_counts=True)
    pairs = zip(counts.tolist(), sizes.tolist(), strict=True)
    return rows, [(count, size) for count, size in pairs if size > 0]


class _NarrowLinear(nn.Module):
    """A linear layer of few inputs with its weight stored as (before, after).

    Its gradient is several times as fast in this layout.
    """

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        bound = before**-0.5  # the initialisation of torch's own linear layer
        self.weight = nn.Parameter(torch.empty(before, after).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(after).uniform_(-bound, bound))

    def forward(self, x: Tensor) -> Tensor:
        return torch.addmm(self.bias, x, self.weight)


class LieConv(nn.Module):
    r"""A convolution whose kernel is a network of the pair.

    \(h_i = \frac1n \sum_j k(a_{ij}) f_j\), with the pair features \(a_{ij}\).

    The last layer of the kernel is linear, \(k^{\alpha\beta} = \sum_\gamma W^{\alpha\beta}_\gamma
    s^\gamma\). It is applied after the sum over neighbours, \(h_i^\alpha = \sum_{\beta\gamma}
    W^{\alpha\beta}_\gamma \frac1n \sum_j s^\gamma(a_{ij}) f_j^\beta\), so that no kernel matrix is
    formed for a pair (Finzi et al. 2020, Appendix A.1, after PointConv).

    Shape: (rows, before) -> (rows, after).

    Args:
        before: channels of the values.
        after: channels of the output.
        pair_features: number of features of a pair.
        kernel_width: width of the two hidden layers of the kernel.
        kernel_outputs: number of functions s of the pair.
    """

    def __init__(
        self,
        before: int,
        after: int,
        *,
        pair_features: int,
        kernel_width: int,
        kernel_outputs: int,
    ) -> None:
        super().__init__()
        self.kernel = nn.Sequential(
            _NarrowLinear(pair_features, kernel_width),
            nn.SiLU(),
            nn.Linear(kernel_width, kernel_width),
            nn.SiLU(),
            nn.Linear(kernel_width, kernel_outputs),
            nn.SiLU(),
        )
        self.mix = nn.Linear(kernel_outputs * before, after)

    def forward(self, values: Tensor, neighbourhoods: Neighbourhoods) -> Tensor:
        """(rows, before) -> (rows, after)"""
        kernel = self.kernel(neighbourhoods.pairs)
        return self.mix(neighbourhoods.aggregate(kernel, values))


class RowNorm(nn.BatchNorm1d):
    """Batch norm over rows that normalises a single row with the running statistics.

    A single row has no variance.   (rows, c) -> (rows, c)
    """

    def forward(self, x: Tensor) -> Tensor:
        """(rows, c) -> (rows, c)"""
        if not self.training or len(x) > 1:
            return super().forward(x)
        return F.batch_norm(
            x,
            running_mean=self.running_mean,
            running_var=self.running_var,
            weight=self.weight,
            bias=self.bias,
            training=False,
            eps=self.eps,
        )


class BottleneckBlock(nn.Module):
    """x + linear(LieConv(linear(x))), each after batch norm and SiLU.

    The channels are reduced to a quarter inside.   (rows, width) -> (rows, width)
    """

    def __init__(self, width: int, **kernel: int) -> None:
        super().__init__()
        inner = max(1, width // 4)
        self.norms = nn.ModuleList(RowNorm(channels) for channels in (width, inner, inner))
        self.shrink = nn.Linear(width, inner)
        self.grow = nn.Linear(inner, width)
        self.conv = LieConv(inner, inner, **kernel)

    def forward(self, x: Tensor, neighbourhoods: Neighbourhoods) -> Tensor:
        """(rows, width) -> (rows, width)"""
        inner = self.shrink(F.silu(self.norms[0](x)))
        inner = self.conv(F.silu(self.norms[1](inner)), neighbourhoods)
        return x + self.grow(F.silu(self.norms[2](inner)))


class LieResNet(nn.Module):
    """A LieConv network for molecules and point clouds: bottleneck blocks, then mean over points.

    Takes positions (B, N, 3), or a dict with "positions" and optionally "charges" (B, N), atomic
    numbers, and a "mask" (B, N), true at real points. Returns (B, n_outputs). Neither the order of
    the points nor padding changes the output.

    The features of an atom are its one-hot species times 1, c and c², where c is its charge
    relative to the largest (Anderson et al. 2019, "Cormorant"). Points without species have the
    single feature 1.

    Memory and time grow as B·N·neighbours·(kernel_width + kernel_outputs), without products of two
    channel counts.

    Reference: Finzi, Stanton, Izmailov, Wilson (2020), "Generalizing Convolutional Neural Networks
    for Equivariance to Lie Groups on Arbitrary Continuous Data"; for QM9 width 1536 and 6 layers.

    Args:
        n_outputs: outputs of the head.
        group: "T3" is invariant to translations, "trivial" to nothing.
        width: channels of the values (the paper's k); a quarter of it inside the blocks.
        layers: number of blocks.
        species: atomic numbers that occur; empty for points without charges.
        neighbours: number of nearest neighbours of each point; None for all points of its item.
        kernel_width: width of the hidden layers of the kernels.
        kernel_outputs: outputs of the kernels, before they are mixed with the channels.

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
        n_outputs: int,
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
        if group not in _PAIR_FEATURES:
            known = ", ".join(_PAIR_FEATURES)
            raise ValueError(f"The group of a LieResNet is one of {known}, but got '{group}'.")
        if neighbours is not None and neighbours < 1:
            raise ValueError(f"neighbours must be at least 1, but got {neighbours}.")
        if not 1 <= layers <= _MAX_LAYERS:
            raise ValueError(f"A LieResNet has 1 to {_MAX_LAYERS} layers, but got {layers}.")
        self._settings = {
            "n_outputs": n_outputs,
            "group": group,
            "width": width,
            "layers": layers,
            "species": list(species),
            "neighbours": neighbours,
            "kernel_width": kernel_width,
            "kernel_outputs": kernel_outputs,
        }
        self.group = group
        self.neighbours = neighbours
        charges = torch.tensor(list(species), dtype=torch.long)
        self.register_buffer("charge_of", charges, persistent=False)
        kernel = {
            "pair_features": _PAIR_FEATURES[group],
            "kernel_width": kernel_width,
            "kernel_outputs": kernel_outputs,
        }
        self.lift = nn.Linear(3 * len(species) or 1, width)
        self.blocks = nn.ModuleList(BottleneckBlock(width, **kernel) for _ in range(layers))
        self.norm = RowNorm(width)
        self.head = nn.Linear(width, n_outputs)

    def settings(self) -> dict[str, object]:
        """Returns the constructor's arguments."""
        return dict(self._settings)

    def forward(self, x: Tensor | Mapping[str, Tensor]) -> Tensor:
        """(B, N, 3), or a dict of tensors -> (B, n_outputs)"""
        cloud = {"positions": x} if isinstance(x, Tensor) else x
        # Differences of positions need float32: half precision is too coarse, and slower on a CPU.
        with torch.autocast(cloud["positions"].device.type, enabled=False):
            return self._predict(cloud)

    def _predict(self, cloud: Mapping[str, Tensor]) -> Tensor:
        positions = cloud["positions"]
        n_items, n_points = positions.shape[:2]
        mask = cloud.get("mask")
        if mask is None:
            mask = positions.new_ones(n_items, n_points, dtype=torch.bool)
            rows = torch.arange(n_items * n_points, device=positions.device)
            sizes = [(n_items, n_points)]
        else:
            mask = mask.bool()
            rows, sizes = rows_by_size(mask)
        neighbourhoods: Neighbourhoods
        if self.neighbours is None or self.neighbours >= n_points:
            points = positions.flatten(0, 1).index_select(0, rows)
            neighbourhoods = AllNeighbours(points, sizes, self.group)
        else:
            neighbourhoods = NearestNeighbours(
                positions, mask, rows, group=self.group, neighbours=self.neighbours
            )
        values = self.lift(self.features(cloud, rows))
        for block in self.blocks:
            values = block(values, neighbourhoods)
        scores = self.head(F.silu(self.norm(values)))
        item = rows.div(n_points, rounding_mode="floor")
        total = scores.new_zeros(n_items, scores.shape[1]).index_add_(0, item, scores)
        return total / mask.sum(1, keepdim=True).clamp_min(1)

    def features(self, cloud: Mapping[str, Tensor], rows: Tensor) -> Tensor:
        """Features of the real points, without their positions: (rows, 3·species)."""
        like = self.lift.weight
        if len(self.charge_of) == 0:
            return like.new_ones(len(rows), 1)
        charges = cloud["charges"].flatten().index_select(0, rows)
        one_hot = charges[:, None] == self.charge_of
        if not torch.compiler.is_compiling():
            self._validate_species(charges, one_hot.any(1))
        c = charges.to(like.dtype)[:, None] / self.charge_of.max()
        powers = torch.cat([torch.ones_like(c), c, c.square()], dim=1)
        return (one_hot[:, :, None] * powers[:, None]).flatten(1)

    def _validate_species(self, charges: Tensor, is_known: Tensor) -> None:
        if not is_known.all():
            unknown = charges[~is_known][0].item()
            species = self.charge_of.tolist()
            raise ValueError(
                f"This LieResNet has the species {species}, "
                f"but the input has an atom of charge {unknown:g}."
            )
