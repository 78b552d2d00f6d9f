"""What a family of maps is: `Transform`, and the three ways to build one from another: Lie groups, `On`, `Compose`."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from augerino import lie
from augerino.coordinate import Coordinate
from augerino.errors import InputError

Size = tuple[int, int]  # height, width


class Transform(nn.Module):
    """A family of maps x -> g_t x, smooth in the coordinates t, with g_0 the identity.

    It holds no learnable parameter and no randomness: *which* member is drawn is a distribution's business. A family whose
    gradient is not the slope of its values, because part of what it does is held fixed in it, says `smooth = False`.

    Must write: `coordinates`, a tuple of `Coordinate`, and `forward(x, t)` for x (B, ...) and t (B, k).
    May write:  `inverse(y, t)`, needed for equivariance; `coverage(y, t)`, what survives there and back, and
    `mixes_with_padding`; `point_map(t, size)`, how it moves the points of an image, for the actions on keypoints, boxes
    and the like, and `canvas`; `settings()`, the constructor's arguments, so that a `Policy` can hold it.
    """

    coordinates: tuple[Coordinate, ...] = ()
    mixes_with_padding: bool = False  # whether `inverse` mixes with 0 at the rim of what it sees
    in_pixels: bool = False  # whether lengths are pixels, so that a coarser map would move too far
    smooth: bool = True  # whether the gradient along t is what finite differences say

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coordinates, in order."""
        return tuple([coordinate.name for coordinate in self.coordinates])

    def forward(self, x: Any, t: Tensor) -> Any:
        """Moves each item of a batch by its own coordinates.   x: (B, ...)   t: (B, k)   returns (B, ...)"""
        raise TypeError(
            f"{type(self).__name__} does not say what it does: write {type(self).__name__}.forward(x, t)."
        )

    def inverse(self, y: Any, t: Tensor) -> Any:
        """Undoes `forward` at the same coordinates."""
        name = type(self).__name__
        raise TypeError(
            f"{name} has no inverse, which equivariance needs: write {name}.inverse(y, t), or use InvariantModel."
        )

    def without_inverse(self) -> str | None:
        """The name of what has no inverse here, this family or a part of it; None where all can be undone."""
        return type(self).__name__ if type(self).inverse is Transform.inverse else None

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        """How much of each place survives g and then g^-1, in 0..1, (B, 1, ...); None means all of everything."""
        return None

    def visibility(self, y: Tensor, t: Tensor) -> Tensor | None:
        """How much of each value of g^-1 y is y's and not the 0 outside, g^-1 1, (B, 1, ...); None means all of it."""
        return self.inverse(torch.ones_like(y[:, :1]), t) if self.mixes_with_padding else None

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """The maps of points, in pixels from the centre of an image, y pointing down.   t: (B, k)   returns (B, 3, 3)"""
        name = type(self).__name__
        raise InputError(
            f"{name} does not say how it moves the points of an image: write {name}.point_map(t, size)."
        )

    def canvas(self, size: Size) -> Size:
        """The (height, width) of what an image of (height, width) becomes."""
        return size

    def window(self, canvas: Size) -> Size:
        """The (height, width) of the image that has this canvas."""
        return canvas

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments, as JSON can hold them."""
        return {}

    def check(self, x: Tensor, t: Tensor) -> None:
        """Refuses inputs that are not floating-point, and coordinates that are not one row an input."""
        name, k = type(self).__name__, len(self.coordinates)
        if not x.is_floating_point():
            raise InputError(
                f"{name} needs floating-point inputs, but got {x.dtype}: convert with x.float() / 255."
            )
        if t.shape != (x.shape[0], k):
            raise InputError(
                f"{name} needs coordinates ({x.shape[0]}, {k}), one row an input, but got {tuple(t.shape)}."
            )

    def extra_repr(self) -> str:
        return ", ".join(self.names)


def per_item(t: Tensor, x: Tensor) -> Tensor:
    """One coordinate an item, shaped to meet all the numbers of its item.   t: (B, 1)   x: (B, ...)   returns (B, 1, ...)"""
    return lie.at_least_float32(t).reshape(-1, *[1] * (x.dim() - 1))


def same_points(t: Tensor) -> Tensor:
    """The `point_map` of what moves nothing.   t: (B, k)   returns (B, 3, 3)"""
    t = lie.at_least_float32(t)
    return torch.eye(3, dtype=t.dtype, device=t.device).expand(t.shape[0], 3, 3)


def choose(chosen: Sequence[str], known: Iterable[str], owner: str) -> tuple[str, ...]:
    """Checks coordinate names against the known ones, and suggests the nearest for a wrong one."""
    known = tuple(known)
    for name in chosen:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"Did you mean '{near[0]}'? " if near else ""
            raise InputError(
                f"{owner} has no coordinate '{name}'. {hint}It has: {', '.join(known)}."
            )
        if list(chosen).count(name) > 1:
            raise InputError(f"{owner} got the coordinate '{name}' twice; name each one once.")
    return tuple(chosen) or known


class LieTransform(Transform):
    r"""A Lie group acting on data: \(g_t = \exp(\sum_i t_i G_i)\).

    Must write: `coordinates` and `generators` (through the constructor) and `forward`, which moves x by `matrix(t)`.
    May write:  `exp`, where the group has a closed form. The inverse comes for free: it is the element at -t.

    Args:
        coordinates: one per generator.
        generators: (k, m, m).
    """

    generators: Tensor

    def __init__(self, coordinates: Sequence[Coordinate], generators: Tensor) -> None:
        super().__init__()
        if (
            generators.dim() != 3
            or generators.shape[0] != len(coordinates)
            or generators.shape[1] != generators.shape[2]
        ):
            raise InputError(
                f"{type(self).__name__} needs one square generator per coordinate, ({len(coordinates)}, m, m), "
                f"but got {tuple(generators.shape)}."
            )
        self.coordinates = tuple(coordinates)
        self.register_buffer("generators", generators, persistent=False)

    def exp(self, algebra: Tensor) -> Tensor:
        return lie.exp(algebra)

    def matrix(self, t: Tensor) -> Tensor:
        """The group elements as matrices on homogeneous points.   t: (B, k)   returns (B, m, m)"""
        with torch.autocast(t.device.type, enabled=False):
            return self.exp(lie.combine(lie.at_least_float32(t), self.generators))

    def inverse(self, y: Any, t: Tensor) -> Any:
        return self.forward(y, -t)


class On(Transform):
    """A lens: the transform of one entry of a structured batch, the rest passing through.

    Args:
        key: of the entry that is moved.
        transform: what moves it.
        where: key of a mask, (B, ...) or (B, N, ...), true where the entry is to be moved; padding, where it is false, stays
            as it is. None moves everything.

    Example:
        >>> from augerino import Affine3d
        >>> batch = {"positions": torch.zeros(1, 3, 3), "mask": torch.tensor([[True, True, False]])}
        >>> lens = On("positions", Affine3d("translate_x"), where="mask")
        >>> lens(batch, torch.tensor([[0.5]]))["positions"][0, :, 0]
        tensor([0.5000, 0.5000, 0.0000])
    """

    def __init__(
        self, key: str | int, transform: Transform, where: str | int | None = None
    ) -> None:
        super().__init__()
        self.key, self.transform, self.where = key, transform, where
        self.coordinates = transform.coordinates
        self.smooth = transform.smooth

    def _replace(self, x: Any, value: Any) -> Any:
        if isinstance(x, Mapping):
            return {**x, self.key: value}
        items = [value if i == self.key else item for i, item in enumerate(x)]
        return type(x)(*items) if hasattr(x, "_fields") else type(x)(items)

    def _entry(self, x: Any, key: str | int) -> Any:
        try:
            return x[key]
        except (KeyError, IndexError, TypeError):
            has = f"the entries {sorted(x)}" if isinstance(x, Mapping) else f"a {type(x).__name__}"
            raise InputError(
                f"On({self.key!r}, ...) found no entry {key!r}: the batch is {has}."
            ) from None

    def _masked(self, x: Any, before: Tensor, after: Tensor) -> Tensor:
        """What was moved, but only where the mask says so."""
        if self.where is None:
            return after
        mask = self._entry(x, self.where)
        if mask.shape != before.shape[: mask.dim()]:
            raise InputError(
                f"On({self.key!r}, ..., where={self.where!r}) needs a mask of the first dimensions of "
                f"{tuple(before.shape)}, as {tuple(before.shape[:2])}, but got {tuple(mask.shape)}."
            )
        return torch.where(
            mask.bool().reshape(*mask.shape, *[1] * (before.dim() - mask.dim())), after, before
        )

    def forward(self, x: Any, t: Tensor) -> Any:
        entry = self._entry(x, self.key)
        return self._replace(x, self._masked(x, entry, self.transform(entry, t)))

    def inverse(self, y: Any, t: Tensor) -> Any:
        entry = self._entry(y, self.key)
        return self._replace(y, self._masked(y, entry, self.transform.inverse(entry, t)))

    def without_inverse(self) -> str | None:
        return self.transform.without_inverse()

    def settings(self) -> dict[str, Any]:
        return {"key": self.key, "transform": self.transform, "where": self.where}


class Identity(Transform):
    """Does nothing, under the coordinates of another transform: how outputs answer to a change that they do not follow.

    Example:
        >>> from augerino import Brightness
        >>> Identity(Brightness())(torch.ones(1, 2), torch.tensor([[0.5]]))
        tensor([[1., 1.]])
    """

    def __init__(self, transform: Transform) -> None:
        super().__init__()
        self.transform = transform
        self.coordinates = transform.coordinates

    def forward(self, x: Any, t: Tensor) -> Any:
        return x

    def inverse(self, y: Any, t: Tensor) -> Any:
        return y

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        return same_points(t)

    def settings(self) -> dict[str, Any]:
        return {"transform": self.transform}


class Compose(Transform):
    """Several transforms in order; the coordinates stand side by side and the inverse runs backwards."""

    def __init__(self, transforms: Sequence[Transform]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(transforms)
        self.coordinates = tuple(c for part in transforms for c in part.coordinates)
        doubled = {name for name in self.names if self.names.count(name) > 1}
        if doubled:
            raise InputError(
                f"Two transforms in one chain share the coordinate '{sorted(doubled)[0]}'; each name stands once."
            )
        self.mixes_with_padding = any(part.mixes_with_padding for part in transforms)
        self.smooth = all(part.smooth for part in transforms)
        self.in_pixels = any(part.in_pixels for part in transforms)

    def _split(self, t: Tensor) -> list[tuple[Transform, Tensor]]:
        pieces = t.split([len(part.coordinates) for part in self.parts], dim=-1)  # type: ignore[arg-type]
        return list(zip(self.parts, pieces, strict=True))  # type: ignore[arg-type]

    def forward(self, x: Any, t: Tensor) -> Any:
        for part, piece in self._split(t):
            x = part(x, piece)
        return x

    def inverse(self, y: Any, t: Tensor) -> Any:
        for part, piece in reversed(self._split(t)):
            y = part.inverse(y, piece)
        return y

    def without_inverse(self) -> str | None:
        return next((name for part in self.parts if (name := part.without_inverse())), None)  # type: ignore[operator]

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        seen: Tensor | None = None
        for part, piece in reversed(self._split(t)):
            new = part.coverage(
                y if seen is None else seen, piece
            )  # of which only the shape counts, and canvases shrink
            if seen is not None:
                moved = part.inverse(seen, piece)
                seen = moved if new is None else moved * new
            else:
                seen = new
        return seen

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        whole = same_points(t)
        with torch.autocast(t.device.type, enabled=False):
            for part, piece in self._split(t):
                whole, size = part.point_map(piece, size) @ whole, part.canvas(size)
        return whole

    def canvas(self, size: Size) -> Size:
        for part in self.parts:
            size = part.canvas(size)  # type: ignore[operator]
        return size

    def window(self, canvas: Size) -> Size:
        for part in reversed(self.parts):
            canvas = part.window(canvas)  # type: ignore[operator]
        return canvas

    def settings(self) -> dict[str, Any]:
        return {"transforms": list(self.parts)}
