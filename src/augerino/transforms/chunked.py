"""Image warp on a CPU with a custom gradient for the affine matrices.

If only the matrices need a gradient, the gradient of the images is not computed, and the sampling
grid is one small matrix product. The sampler reads its input in the order of the output, so that a
rotation scatters its memory accesses. On some processors it is therefore faster to copy large
images into the cache first, a few at a time.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SMALL = 64_000  # bytes up to which an image fits into the cache and a batch is sampled at once
PIECE = 1_200_000  # bytes of images per thread that are copied and sampled together


class Points:
    """Output points of a warp, and the gradient of the matrices from that of the sampling grid.

    Args:
        factors: multiplied with the two upper rows of each matrix, (2, 3).
        plane: homogeneous output points, (3, rows, columns); x is constant along the rows dimension
            and y along the columns dimension.
    """

    def __init__(self, factors: Tensor, plane: Tensor) -> None:
        self.factors = factors
        self.plane = plane.flatten(1)
        self.rows, self.columns = plane.shape[1:]
        x = plane[0, 0]
        y = plane[1, :, 0]
        # Weights (y, 1) of the sums over rows, then weights (x, 1) of the sums over columns, for
        # each of the two components of the gradient.
        self.down = torch.stack([y, torch.ones_like(y)])
        across = plane.new_zeros(self.columns, 2, 2, 2)
        across[:, 0, 0, 0] = x
        across[:, 1, 1, 0] = x
        across[:, 0, 0, 1] = 1
        across[:, 1, 1, 1] = 1
        self.across = across.view(2 * self.columns, 4)
        # Positions of the sums weighted by x, y and 1, for the first and the second component.
        self.order = torch.tensor([4, 1, 5, 6, 3, 7], device=plane.device)

    def affine(self, pull: Tensor) -> Tensor:
        """Rows of the matrices in sampler coordinates.   pull: (B, 3, 3)   returns (2 B, 3)"""
        upper = pull[:, :2].to(self.plane.dtype)
        return (upper * self.factors).view(-1, 3)

    def gather(self, along: Tensor) -> Tensor:
        """Gradient of the affine rows from that of the grid, as sums over rows, then over columns.

        Args:
            along: gradient of the grid, (n, rows, columns, 2).

        Returns:
            (n, 2, 3).
        """
        width = 2 * self.columns
        sums = torch.matmul(self.down, along.view(-1, self.rows, width))
        moments = (sums.view(-1, width) @ self.across).view(-1, 8)
        return moments.index_select(1, self.order).view(-1, 2, 3)


def warp(x: Tensor, pull: Tensor, points: Points, sampling: int, padding: int) -> Tensor:
    """Samples images at the output points mapped by their matrices.

    Args:
        x: images of any floating dtype, (B, C, H, W); sampled in the dtype of `points`.
        pull: one matrix per image, (B, 3, 3).
        points: the output points.
        sampling: number of the interpolation mode in torch's sampler.
        padding: number of the padding mode in torch's sampler.

    Returns:
        Images of the dtype of x, (B, C, rows, columns).
    """
    return _Warp.apply(x, pull, points, (sampling, padding, False))  # type: ignore[no-untyped-call]


class _Warp(torch.autograd.Function):
    """The warp, with the gradients of the images and of the matrices where they are needed."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, pull: Tensor, points: Points, modes: tuple[int, int, bool]
    ) -> Tensor:
        batch = _Batch(x, pull, points)
        grid = None
        if batch.whole:
            out, grid = batch.at_once(modes)
        else:
            out = batch.by_pieces(modes)
        ctx.save_for_backward(x, pull, grid)
        ctx.points = points
        ctx.modes = modes
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, pull, grid = ctx.saved_tensors
        points = ctx.points
        needed = list(ctx.needs_input_grad[:2])
        grad_pull = None
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            if grid is None:
                batch = _Batch(x, pull, points)
                grad_x, grad_affine = batch.differentiate(gradient, ctx.modes, needed)
            else:
                grad_x, grad_grid = torch.ops.aten.grid_sampler_2d_backward(
                    gradient.contiguous(), x, grid, *ctx.modes, needed
                )
                grad_x = grad_x if needed[0] else None
                grad_affine = points.gather(grad_grid) if needed[1] else None
            if grad_affine is not None:
                grad_pull = torch.zeros_like(pull)
                grad_pull[:, :2] = grad_affine * points.factors
        if torch.is_grad_enabled():
            if grad_x is not None:
                grad_x = _once(grad_x, gradient, x, pull)
            if grad_pull is not None:
                grad_pull = _once(grad_pull, gradient, x, pull)
        return grad_x, grad_pull, None, None


class _Batch:
    """A batch of images, sampled at once or in pieces that reuse the same buffers."""

    def __init__(self, x: Tensor, pull: Tensor, points: Points) -> None:
        self.x = x
        self.points = points
        self.affine = points.affine(pull)
        self.like = points.plane
        channels, height, width = x.shape[1:]
        pixels = max(height * width, points.rows * points.columns)
        image = self.like.element_size() * channels * pixels
        self.small = image <= SMALL
        per_thread = max(1, PIECE // image)
        self.size = min(max(len(x), 1), torch.get_num_threads() * per_thread)
        self._images: Tensor | None = None
        self._grids: Tensor | None = None

    @property
    def whole(self) -> bool:
        """Whether to sample all images at once, without copies."""
        if self.x.dtype != self.like.dtype or not self.x.is_contiguous():
            return False
        return self.small or not copying_pays()

    def at_once(self, modes: tuple[int, int, bool]) -> tuple[Tensor, Tensor]:
        """Warped images, and the sampling grid."""
        grid = self._shaped(torch.mm(self.affine, self.like))
        return torch.grid_sampler_2d(self.x, grid, *modes), grid

    def by_pieces(self, modes: tuple[int, int, bool]) -> Tensor:
        """Warped images, sampled a few at a time."""
        out = self.x.new_empty(*self.x.shape[:2], self.points.rows, self.points.columns)
        for rows in self.pieces():
            out[rows] = torch.grid_sampler_2d(self.images(rows), self.grid(rows), *modes)
        return out

    def differentiate(
        self, gradient: Tensor, modes: tuple[int, int, bool], needed: list[bool]
    ) -> tuple[Tensor | None, Tensor | None]:
        """Gradients of the images and of the affine rows, in pieces; None where not needed."""
        grad_x = None
        grad_affine = None
        if needed[0]:
            grad_x = torch.empty_like(self.x, memory_format=torch.contiguous_format)
        if needed[1]:
            grad_affine = self.like.new_empty(len(self.x), 2, 3)
        for rows in self.pieces():
            along = gradient[rows].to(self.like.dtype).contiguous()
            found = torch.ops.aten.grid_sampler_2d_backward(
                along, self.images(rows), self.grid(rows), *modes, needed
            )
            if grad_x is not None:
                grad_x[rows] = found[0]
            if grad_affine is not None:
                grad_affine[rows] = self.points.gather(found[1])
        return grad_x, grad_affine

    def pieces(self) -> Iterator[slice]:
        """Ranges of images that are sampled together."""
        for start in range(0, len(self.x), self.size):
            yield slice(start, min(start + self.size, len(self.x)))

    def images(self, rows: slice) -> Tensor:
        """A copy of some of the images in the reused buffer."""
        if self._images is None:
            self._images = self.like.new_empty(self.size, *self.x.shape[1:])
        return self._images[: rows.stop - rows.start].copy_(self.x[rows])

    def grid(self, rows: slice) -> Tensor:
        """The sampling grid of some of the images in the reused buffer."""
        if self._grids is None:
            self._grids = self.like.new_empty(2 * self.size, self.like.shape[1])
        affine = self.affine[2 * rows.start : 2 * rows.stop]
        out = self._grids[: len(affine)]
        return self._shaped(torch.mm(affine, self.like, out=out))

    def _shaped(self, grid: Tensor) -> Tensor:
        """Reshapes a grid.   grid: (2 n, rows * columns)   returns (n, rows, columns, 2)"""
        planes = grid.view(len(grid) // 2, 2, self.points.rows, self.points.columns)
        return planes.permute(0, 2, 3, 1)


def copying_pays() -> bool:
    """Whether large images are sampled faster after a copy into the processor's cache.

    Measured with `python -m benchmarks.speed`: copies halve the time with AVX2 and cost a third
    with AVX-512. The choice depends on the processor alone, never on a timing, because the two
    ways may differ in the last bit.
    """
    return torch.backends.cpu.get_cpu_capability() != "AVX512"


def _once(found: Tensor, *origins: Tensor) -> Tensor:
    """The same gradient, which raises an error if it is differentiated."""
    return _Once.apply(found, *origins)  # type: ignore[no-untyped-call]


class _Once(torch.autograd.Function):
    """The identity on a gradient; its derivative raises an error with an explanation."""

    @staticmethod
    def forward(ctx: Any, found: Tensor, *origins: Tensor) -> Tensor:
        return found.view_as(found)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, ...]:
        raise RuntimeError(
            "An image warp can be differentiated only once, because torch's grid sampler has no "
            "second derivative: detach the coordinates, or take second derivatives with respect to "
            "the network's weights only."
        )
