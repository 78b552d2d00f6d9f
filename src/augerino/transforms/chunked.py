"""The warp of images on a CPU, a few images at a time, with a gradient that goes straight to their matrices.

Three things make it fast. The sampler reads its input in the order of the output, which a rotation scatters over the memory: an image
copied in order beforehand, by a processor that foresees what comes next, is then read from its cache. Coordinates live for one
piece of the batch only and never leave the cache either; the backward pass makes them again, which is one small product.
And whoever needs the gradient of the matrices alone pays for no gradient of the images.
"""

from typing import Any

import torch
from torch import Tensor

PIECE = 800_000  # bytes of images that a thread works on at a time, near the size of its own cache


def warp(x: Tensor, pull: Tensor, points: Tensor, window: tuple[int, int], sampling: int, padding: int) -> Tensor:
    """Samples images at the points of their matrices.   x: (B, C, H, W)   pull: (B, 3, 3)   returns (B, C, *window)

    Args:
        x: images of any floating type; they are sampled in that of `points`, and come back as they came.
        pull: one matrix an image.
        points: the linear map from the six upper entries of a matrix to a sampling grid, (6, rows * columns * 2).
        window: rows and columns of the output.
        sampling, padding: as torch's sampler numbers them.
    """
    return _Warp.apply(x, pull, points, window, sampling, padding)


class _Warp(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, pull: Tensor, points: Tensor, window: tuple[int, int], sampling: int, padding: int
    ) -> Tensor:
        ctx.save_for_backward(x, pull, points)
        ctx.window, ctx.modes = window, (sampling, padding, False)
        out = x.new_empty(*x.shape[:2], *window)
        pieces = _Pieces(x, pull, points, window)
        for rows in pieces:
            out[rows] = torch.grid_sampler_2d(pieces.images(rows), pieces.grid(rows), *ctx.modes)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        x, pull, points = ctx.saved_tensors
        on_images, on_matrices = ctx.needs_input_grad[:2]
        found: list[Tensor] = []
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            on_x = x.new_empty(x.shape) if on_images else None
            on_affine = points.new_empty(len(x), 6) if on_matrices else None
            pieces = _Pieces(x, pull, points, ctx.window)
            for rows in pieces:
                along = gradient[rows].to(points.dtype).contiguous()
                found = torch.ops.aten.grid_sampler_2d_backward(
                    along, pieces.images(rows), pieces.grid(rows), *ctx.modes, [on_images, on_matrices]
                )
                if on_x is not None:
                    on_x[rows] = found[0]
                if on_affine is not None:
                    torch.mm(found[1].view(len(along), -1), points.mT, out=on_affine[rows])
            on_pull = None
            if on_affine is not None:
                on_pull = torch.zeros_like(pull)
                on_pull[:, :2] = on_affine.view(-1, 2, 3)
        if torch.is_grad_enabled():
            on_x, on_pull = (None if g is None else _Once.apply(g, gradient, x, pull) for g in (on_x, on_pull))
        return on_x, on_pull, None, None, None, None


class _Once(torch.autograd.Function):
    """A gradient that says what is missing if it is differentiated itself."""

    @staticmethod
    def forward(ctx: Any, found: Tensor, *origins: Tensor) -> Tensor:
        return found.view_as(found)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, ...]:  # type: ignore[override]
        raise RuntimeError(
            "A warp of images can be differentiated once, not twice, since torch's sampler has no second derivative: "
            "detach the coordinates, or take second derivatives along the network's weights only."
        )


class _Pieces:
    """Which images are worked on together; their copies and grids are made in the same memory again and again."""

    def __init__(self, x: Tensor, pull: Tensor, points: Tensor, window: tuple[int, int]) -> None:
        self.x, self.points, self.window = x, points, window
        self.affine = pull[:, :2].reshape(-1, 6).to(points.dtype)
        image = points.element_size() * max(1, x.shape[1]) * max(x.shape[2] * x.shape[3], window[0] * window[1])
        self.size = max(1, min(len(x), torch.get_num_threads() * max(1, PIECE // image)))
        self._image = points.new_empty(self.size, *x.shape[1:])
        self._grid = points.new_empty(self.size, points.shape[1])

    def __iter__(self) -> Any:
        return (slice(start, min(start + self.size, len(self.x))) for start in range(0, len(self.x), self.size))

    def images(self, rows: slice) -> Tensor:
        return self._image[: rows.stop - rows.start].copy_(self.x[rows])

    def grid(self, rows: slice) -> Tensor:
        count = rows.stop - rows.start
        return torch.mm(self.affine[rows], self.points, out=self._grid[:count]).view(count, *self.window, 2)
