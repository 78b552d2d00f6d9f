"""The warp of images on a CPU, a few images at a time, with a gradient that goes straight to their matrices.

Three things make it fast. The sampler reads its input in the order of the output, which a rotation scatters over the memory:
images that are first copied in order, which a processor foresees, are then read from its cache. Coordinates live for one piece
of a large batch only and never leave the cache either; the backward pass makes them again, which is one small product.
And whoever needs the gradient of the matrices alone pays for no gradient of the images.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

SMALL = 2_500_000  # bytes of images, below which a batch is in the cache anyway
PIECE = 800_000  # bytes of images that a thread works on at a time


def warp(x: Tensor, pull: Tensor, points: Tensor, window: tuple[int, int], sampling: int, padding: int) -> Tensor:
    """Samples images at the points of their matrices.   x: (B, C, H, W)   pull: (B, 3, 3)   returns (B, C, *window)

    Args:
        x: images of any floating type; they are sampled in that of `points`, and come back as they came.
        pull: one matrix an image.
        points: the linear map from the six upper entries of a matrix to a sampling grid, (6, rows * columns * 2).
        window: rows and columns of the output.
        sampling, padding: as torch's sampler numbers them.
    """
    return _Warp.apply(x, pull, points, window, (sampling, padding, False))  # type: ignore[no-untyped-call]


class _Warp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, pull: Tensor, points: Tensor, window: tuple[int, int], modes: tuple[int, int, bool]
    ) -> Tensor:
        batch = _Batch(x, pull, points, window)
        if batch.whole:
            grid = batch.grid(slice(0, len(x)))
            out = torch.grid_sampler_2d(x, grid, *modes)
        else:
            grid, out = None, x.new_empty(*x.shape[:2], *window)
            for rows in batch.pieces():
                out[rows] = torch.grid_sampler_2d(batch.images(rows), batch.grid(rows), *modes)
        ctx.save_for_backward(x, pull, points, grid)
        ctx.window, ctx.modes = window, modes
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, pull, points, grid = ctx.saved_tensors
        needed = list(ctx.needs_input_grad[:2])
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            batch = _Batch(x, pull, points, ctx.window)
            if grid is not None:
                along = gradient.contiguous()
                on_x, on_grid = torch.ops.aten.grid_sampler_2d_backward(along, x, grid, *ctx.modes, needed)
                on_affine = on_grid.view(len(x), points.shape[1]) @ points.mT if needed[1] else None
            else:
                on_x, on_affine = batch.differentiate(gradient, ctx.modes, needed)
            on_pull = None
            if on_affine is not None:
                on_pull = torch.zeros_like(pull)
                on_pull[:, :2] = on_affine.view(-1, 2, 3)
        on_x = on_x if needed[0] else None
        if torch.is_grad_enabled():
            on_x, on_pull = (None if part is None else _once(part, gradient, x, pull) for part in (on_x, on_pull))
        return on_x, on_pull, None, None, None


class _Batch:
    """Which images are worked on together; their copies and grids are made in the same memory again and again."""

    def __init__(self, x: Tensor, pull: Tensor, points: Tensor, window: tuple[int, int]) -> None:
        self.x, self.points, self.window = x, points, window
        self.affine = pull[:, :2].reshape(-1, 6).to(points.dtype)
        image = points.element_size() * x.shape[1] * max(x.shape[2] * x.shape[3], window[0] * window[1])
        self.whole = len(x) * image <= SMALL and x.dtype == points.dtype and x.is_contiguous()
        self.size = len(x) if self.whole else min(len(x), torch.get_num_threads() * max(1, PIECE // image))
        self._images: Tensor | None = None
        self._grids: Tensor | None = None

    def pieces(self) -> Iterator[slice]:
        return (slice(start, min(start + self.size, len(self.x))) for start in range(0, len(self.x), self.size))

    def images(self, rows: slice) -> Tensor:
        if self._images is None:
            self._images = self.points.new_empty(self.size, *self.x.shape[1:])
        return self._images[: rows.stop - rows.start].copy_(self.x[rows])

    def grid(self, rows: slice) -> Tensor:
        count = rows.stop - rows.start
        if self._grids is None:
            self._grids = self.points.new_empty(self.size, self.points.shape[1])
        return torch.mm(self.affine[rows], self.points, out=self._grids[:count]).view(count, *self.window, 2)

    def differentiate(self, gradient: Tensor, modes: tuple[int, int, bool], needed: list[bool]) -> tuple[Tensor | None, ...]:
        """The gradients of the images and of the six entries of their matrices, where they are needed."""
        on_x = torch.empty_like(self.x, memory_format=torch.contiguous_format) if needed[0] else None
        on_affine = torch.empty_like(self.affine) if needed[1] else None
        for rows in self.pieces():
            along = gradient[rows].to(self.points.dtype).contiguous()
            found = torch.ops.aten.grid_sampler_2d_backward(along, self.images(rows), self.grid(rows), *modes, needed)
            if on_x is not None:
                on_x[rows] = found[0]
            if on_affine is not None:
                torch.mm(found[1].view(len(along), -1), self.points.mT, out=on_affine[rows])
        return on_x, on_affine


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
