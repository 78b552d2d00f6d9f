"""The warp of images on a CPU, with a gradient that goes straight to their matrices.

Whoever needs the gradient of the matrices alone pays for no gradient of the images, and the grid is one small product. The
sampler reads its input in the order of the output, which a rotation scatters over the memory. On
some processors it is faster to copy large images into the cache first, a few at a time.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SMALL = 64_000  # bytes of an image that is in the cache anyway while it is sampled: such batches are done at once
PIECE = (
    1_200_000  # bytes of larger images that a thread works on at a time, where copying them pays
)


class Points:
    """The points at which images are sampled, and what brings a gradient along them back to matrices.

    Args:
        factors: (2, 3), by which the upper rows of a matrix are multiplied.
        plane: homogeneous points of the output, (3, rows, columns), with x the same in all rows and y in all columns.
    """

    def __init__(self, factors: Tensor, plane: Tensor) -> None:
        self.factors, self.plane = factors, plane.flatten(1)
        self.rows, self.columns = plane.shape[1:]
        x, y = plane[0, 0], plane[1, :, 0]
        self.down = torch.stack([y, torch.ones_like(y)])
        self.across = plane.new_zeros(
            self.columns, 2, 2, 2
        )  # for either part of a gradient: times x, and as it is
        self.across[:, 0, 0, 0] = self.across[:, 1, 1, 0] = x
        self.across[:, 0, 0, 1] = self.across[:, 1, 1, 1] = 1
        self.across = self.across.view(2 * self.columns, 4)
        self.order = torch.tensor(
            [4, 1, 5, 6, 3, 7], device=plane.device
        )  # times x, times y and as it is, of either part

    def affine(self, pull: Tensor) -> Tensor:
        """The upper rows of matrices as they multiply the points.   pull: (B, 3, 3)   returns (2 B, 3)"""
        return (pull[:, :2].to(self.plane.dtype) * self.factors).view(-1, 3)

    def gather(self, along: Tensor) -> Tensor:
        """The gradient of `affine` from that of the grid: sums over rows, then over columns.   along: (n, rows, columns, 2)"""
        sums = torch.matmul(
            self.down, along.view(-1, self.rows, 2 * self.columns)
        )  # times y, and as they are
        moments = (sums.view(-1, 2 * self.columns) @ self.across).view(
            -1, 8
        )  # each of gx x, gx, gy x, gy
        return moments.index_select(1, self.order).view(-1, 2, 3)


def warp(x: Tensor, pull: Tensor, points: Points, sampling: int, padding: int) -> Tensor:
    """Samples images at the points of their matrices.   x: (B, C, H, W)   pull: (B, 3, 3)   returns (B, C, rows, columns)

    Args:
        x: images of any floating type; they are sampled in that of `points`, and come back as they came.
        pull: one matrix an image.
        points: of the output.
        sampling, padding: as torch's sampler numbers them.
    """
    return _Warp.apply(x, pull, points, (sampling, padding, False))  # type: ignore[no-untyped-call]


class _Warp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, pull: Tensor, points: Points, modes: tuple[int, int, bool]
    ) -> Tensor:
        batch = _Batch(x, pull, points)
        out, grid = batch.at_once(modes) if batch.whole else (batch.by_pieces(modes), None)
        ctx.save_for_backward(x, pull, grid)
        ctx.points, ctx.modes = points, modes
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (x, pull, grid), points = ctx.saved_tensors, ctx.points
        needed = list(ctx.needs_input_grad[:2])
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            if grid is not None:
                found = torch.ops.aten.grid_sampler_2d_backward(
                    gradient.contiguous(), x, grid, *ctx.modes, needed
                )
                on_x, on_affine = (
                    found[0] if needed[0] else None,
                    points.gather(found[1]) if needed[1] else None,
                )
            else:
                on_x, on_affine = _Batch(x, pull, points).differentiate(gradient, ctx.modes, needed)
            on_pull = None
            if on_affine is not None:
                on_pull = torch.zeros_like(pull)
                on_pull[:, :2] = on_affine * points.factors
        if torch.is_grad_enabled():
            on_x, on_pull = (
                None if part is None else _once(part, gradient, x, pull) for part in (on_x, on_pull)
            )
        return on_x, on_pull, None, None


class _Batch:
    """Which images are worked on together; their copies and grids are made in the same memory again and again."""

    def __init__(self, x: Tensor, pull: Tensor, points: Points) -> None:
        self.x, self.points, self.affine = x, points, points.affine(pull)
        self.like = points.plane
        image = (
            self.like.element_size()
            * x.shape[1]
            * max(x.shape[2] * x.shape[3], points.rows * points.columns)
        )
        self.small = image <= SMALL
        self.size = min(max(len(x), 1), torch.get_num_threads() * max(1, PIECE // image))
        self._images: Tensor | None = None
        self._grids: Tensor | None = None

    @property
    def whole(self) -> bool:
        """Whether all images are better sampled at once, as they lie in the memory."""
        if self.x.dtype != self.like.dtype or not self.x.is_contiguous():
            return False
        return self.small or not copying_pays()

    def at_once(self, modes: tuple[int, int, bool]) -> tuple[Tensor, Tensor]:
        """All images, and the grid they were sampled at."""
        grid = self._shaped(torch.mm(self.affine, self.like))
        return torch.grid_sampler_2d(self.x, grid, *modes), grid

    def by_pieces(self, modes: tuple[int, int, bool]) -> Tensor:
        """All images, a few at a time."""
        out = self.x.new_empty(*self.x.shape[:2], self.points.rows, self.points.columns)
        for rows in self.pieces():
            out[rows] = torch.grid_sampler_2d(self.images(rows), self.grid(rows), *modes)
        return out

    def pieces(self) -> Iterator[slice]:
        return (
            slice(start, min(start + self.size, len(self.x)))
            for start in range(0, len(self.x), self.size)
        )

    def images(self, rows: slice) -> Tensor:
        if self._images is None:
            self._images = self.like.new_empty(self.size, *self.x.shape[1:])
        return self._images[: rows.stop - rows.start].copy_(self.x[rows])

    def grid(self, rows: slice) -> Tensor:
        if self._grids is None:
            self._grids = self.like.new_empty(2 * self.size, self.like.shape[1])
        affine = self.affine[2 * rows.start : 2 * rows.stop]
        return self._shaped(torch.mm(affine, self.like, out=self._grids[: len(affine)]))

    def _shaped(self, grid: Tensor) -> Tensor:
        """As the sampler takes it.   grid: (2 n, rows * columns)   returns (n, rows, columns, 2)"""
        return grid.view(len(grid) // 2, 2, self.points.rows, self.points.columns).permute(
            0, 2, 3, 1
        )

    def differentiate(
        self, gradient: Tensor, modes: tuple[int, int, bool], needed: list[bool]
    ) -> tuple[Tensor | None, ...]:
        """The gradients of the images and of their matrices' upper rows, where they are needed."""
        on_x = (
            torch.empty_like(self.x, memory_format=torch.contiguous_format) if needed[0] else None
        )
        on_affine = self.like.new_empty(len(self.x), 2, 3) if needed[1] else None
        for rows in self.pieces():
            along = gradient[rows].to(self.like.dtype).contiguous()
            found = torch.ops.aten.grid_sampler_2d_backward(
                along, self.images(rows), self.grid(rows), *modes, needed
            )
            if on_x is not None:
                on_x[rows] = found[0]
            if on_affine is not None:
                on_affine[rows] = self.points.gather(found[1])
        return on_x, on_affine


def copying_pays() -> bool:
    """Whether large images are sampled faster after a copy into the processor's cache.

    Measured with `python -m benchmarks.speed`: copies halve the time with AVX2 and cost a third with
    AVX-512. The choice depends on the processor alone, never on a timing, because the two ways may
    differ in the last bit.
    """
    return torch.backends.cpu.get_cpu_capability() != "AVX512"


def _once(found: Tensor, *origins: Tensor) -> Tensor:
    return _Once.apply(found, *origins)  # type: ignore[no-untyped-call]


class _Once(torch.autograd.Function):
    """A gradient that says what is missing if it is differentiated itself."""

    @staticmethod
    def forward(ctx: Any, found: Tensor, *origins: Tensor) -> Tensor:
        return found.view_as(found)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, ...]:
        raise RuntimeError(
            "A warp of images can be differentiated once, not twice, since torch's sampler has no second derivative: "
            "detach the coordinates, or take second derivatives along the network's weights only."
        )
