"""The interface `Transform`, and transforms built from others: `LieTransform`, `On`, `Compose`."""

import copy
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
    r"""A family of maps \(x \mapsto g_t x\), smooth in t, with \(g_0\) the identity.

    A transform has no learnable parameters and no randomness; a distribution draws the coordinates.

    Subclasses must define `coordinates`, a tuple of `Coordinate`, and `forward(x, t)` for x of
    shape (B, ...) and t of shape (B, k). They may override:

    - `inverse(y, t)`, which equivariance needs
    - `coverage(y, t)` and `mixes_with_padding`, if g followed by its inverse loses part of the
      input
    - `point_map(t, size)` and `canvas(size)`, for the actions on keypoints, boxes and other outputs
    - `settings()`, the arguments of the constructor, so that the transform can be saved
    - `smooth = False`, if the gradient along t is not the derivative of the values, and
      `has_gradient = False`, if it is 0 because the values jump

    Attributes:
        coordinates: the coordinates, in the order of the columns of t.
        mixes_with_padding: whether `inverse` interpolates with zeros at the edge of its input.
        in_pixels: whether lengths are in pixels, so that a map of lower resolution would move too
            far.
        smooth: whether the gradient along t agrees with finite differences.
        has_gradient: whether the gradient along t can be used to learn a range.
    """

    coordinates: tuple[Coordinate, ...] = ()
    mixes_with_padding: bool = False
    in_pixels: bool = False
    smooth: bool = True
    has_gradient: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coordinates, in order."""
        return tuple([coordinate.name for coordinate in self.coordinates])

    def forward(self, x: Any, t: Tensor) -> Any:
        """Transforms each input by its coordinates.   x: (B, ...)   t: (B, k)   returns (B, ...)"""
        name = type(self).__name__
        raise TypeError(f"{name} has no forward: implement {name}.forward(x, t).")

    def inverse(self, y: Any, t: Tensor) -> Any:
        """Inverse of `forward` at t.   y: (B, ...)   t: (B, k)   returns (B, ...)"""
        name = type(self).__name__
        raise TypeError(
            f"{name} has no inverse, which equivariance needs: "
            f"implement {name}.inverse(y, t), or use InvariantModel."
        )

    def without_inverse(self) -> str | None:
        """Name of the first part that has no inverse; None if all parts have one."""
        if type(self).inverse is Transform.inverse:
            return type(self).__name__
        return None

    def without_gradient(self) -> str | None:
        """Name of the first coordinate without a useful gradient; None if all have one."""
        return None if self.has_gradient else self.names[0]

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        """Fraction of each value that survives g followed by its inverse, in [0, 1].

        Returns:
            (B, 1, ...), or None if everything survives.
        """
        return None

    def visibility(self, y: Tensor, t: Tensor) -> Tensor | None:
        """Fraction of each value of g^-1 y that comes from y and not from the zeros outside it.

        Returns:
            g^-1 applied to ones, (B, 1, ...), or None if every value comes from y.
        """
        if not self.mixes_with_padding:
            return None
        return self.inverse(torch.ones_like(y[:, :1]), t)

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Matrices that move the points of an image, in pixels from its centre, with y down.

        Args:
            t: coordinates, (B, k).
            size: (height, width) of the image.

        Returns:
            (B, 3, 3), acting on homogeneous points (x, y, 1).
        """
        name = type(self).__name__
        raise InputError(
            f"{name} does not define how it moves the points of an image: "
            f"implement {name}.point_map(t, size)."
        )

    def canvas(self, size: Size) -> Size:
        """(height, width) of the output for an image of (height, width)."""
        return size

    def window(self, canvas: Size) -> Size:
        """(height, width) of the image whose output has the size `canvas`; inverse of `canvas`."""
        return canvas

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor, as values that JSON can store."""
        return {}

    def only(self, names: Sequence[str]) -> "Transform | None":
        """The same family with some of its coordinates; None if it cannot be restricted."""
        if tuple(names) == self.names:
            return copy.deepcopy(self)
        settings = self.settings()
        if "names" not in settings:
            return None
        others = {key: value for key, value in settings.items() if key != "names"}
        return type(self)(*names, **others)

    def check(self, x: Tensor, t: Tensor) -> None:
        """Raises `InputError` unless x is floating-point and t has one row per input."""
        name = type(self).__name__
        expected = (x.shape[0], len(self.coordinates))
        if not x.is_floating_point():
            raise InputError(
                f"{name} needs floating-point inputs, but got {x.dtype}: "
                "convert with x.float() / 255."
            )
        if t.shape != expected:
            raise InputError(
                f"{name} needs coordinates {expected}, one row per input, but got {tuple(t.shape)}."
            )

    def extra_repr(self) -> str:
        """Names of the coordinates, for `repr`."""
        return ", ".join(self.names)


def precise(t: Tensor, x: Tensor) -> Tensor:
    """Coordinates in float64 if the data are."""
    if x.dtype == torch.float64:
        return t.double()
    return t


def per_item(t: Tensor, x: Tensor) -> Tensor:
    """Reshapes coordinates for broadcasting.   t: (B, 1)   x: (B, ...)   returns (B, 1, ...)"""
    return lie.at_least_float32(t).reshape(-1, *[1] * (x.dim() - 1))


def same_points(t: Tensor) -> Tensor:
    """The `point_map` of a transform that moves no points.   t: (B, k)   returns (B, 3, 3)"""
    t = lie.at_least_float32(t)
    return torch.eye(3, dtype=t.dtype, device=t.device).expand(t.shape[0], 3, 3)


def choose(chosen: Sequence[str], known: Iterable[str], owner: str) -> tuple[str, ...]:
    """Validates coordinate names against the known ones; no names means all of them.

    Raises:
        InputError: if a name is unknown (with the closest match as a suggestion) or repeated.
    """
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
    r"""A Lie group acting on data: \(g_t = \exp(\sum_i t_i G_i)\), with inverse \(g_{-t}\).

    Subclasses must implement `forward`, which applies `matrix(t)` to x. They may override `exp` if
    the group has a closed form.

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
                f"{type(self).__name__} needs one square generator per coordinate, "
                f"({len(coordinates)}, m, m), but got {tuple(generators.shape)}."
            )
        self.coordinates = tuple(coordinates)
        self.register_buffer("generators", generators, persistent=False)

    def exp(self, algebra: Tensor) -> Tensor:
        """Exponential of algebra elements.   algebra: (B, m, m)   returns (B, m, m)"""
        return lie.exp(algebra)

    def matrix(self, t: Tensor) -> Tensor:
        """Group elements as matrices on homogeneous points.   t: (B, k)   returns (B, m, m)"""
        with torch.autocast(t.device.type, enabled=False):
            return self.exp(lie.combine(lie.at_least_float32(t), self.generators))

    def inverse(self, y: Any, t: Tensor) -> Any:
        """Applies the group element at -t."""
        return self.forward(y, -t)


class On(Transform):
    """Applies a transform to one entry of a structured batch and passes the others through.

    Args:
        key: key or index of the entry that is transformed.
        transform: the transform of that entry.
        where: key of a mask over the first dimensions of the entry, such as (B, N). Values where
            it is false, usually padding, stay unchanged. None transforms every value.

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
        self.key = key
        self.transform = transform
        self.where = where
        self.coordinates = transform.coordinates
        self.smooth = transform.smooth

    def _replace(self, x: Any, value: Any) -> Any:
        """A copy of the batch with another value at the key."""
        if isinstance(x, Mapping):
            return {**x, self.key: value}
        items: list[Any] = []
        for i, item in enumerate(x):
            if i == self.key:
                items.append(value)
            else:
                items.append(item)
        if hasattr(x, "_fields"):  # a named tuple
            return type(x)(*items)
        return type(x)(items)

    def _entry(self, x: Any, key: str | int) -> Any:
        try:
            return x[key]
        except (KeyError, IndexError, TypeError):
            if isinstance(x, Mapping):
                found = f"has the entries {sorted(x)}"
            else:
                found = f"is a {type(x).__name__}"
            raise InputError(
                f"On({self.key!r}, ...) found no entry {key!r}: the batch {found}."
            ) from None

    def _masked(self, x: Any, before: Tensor, after: Tensor) -> Tensor:
        """`after` where the mask is true, `before` elsewhere."""
        if self.where is None:
            return after
        mask = self._entry(x, self.where)
        if mask.shape != before.shape[: mask.dim()]:
            raise InputError(
                f"On({self.key!r}, ..., where={self.where!r}) needs a mask over the first "
                f"dimensions of {tuple(before.shape)}, such as {tuple(before.shape[:2])}, "
                f"but got {tuple(mask.shape)}."
            )
        trailing = [1] * (before.dim() - mask.dim())
        return torch.where(mask.bool().reshape(*mask.shape, *trailing), after, before)

    def forward(self, x: Any, t: Tensor) -> Any:
        """Transforms the entry; returns a batch of the same structure."""
        entry = self._entry(x, self.key)
        return self._replace(x, self._masked(x, entry, self.transform(entry, t)))

    def inverse(self, y: Any, t: Tensor) -> Any:
        """Applies the inverse to the entry; returns a batch of the same structure."""
        entry = self._entry(y, self.key)
        return self._replace(y, self._masked(y, entry, self.transform.inverse(entry, t)))

    def without_inverse(self) -> str | None:
        """Name of the part of the inner transform that has no inverse, if any."""
        return self.transform.without_inverse()

    def only(self, names: Sequence[str]) -> "Transform | None":
        """The same entry under fewer coordinates; None if they cannot be restricted."""
        inner = self.transform.only(names)
        if inner is None:
            return None
        return On(self.key, inner, where=self.where)

    def without_gradient(self) -> str | None:
        """Name of the first coordinate without a useful gradient; None if all have one."""
        return self.transform.without_gradient()

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"key": self.key, "transform": self.transform, "where": self.where}


class Identity(Transform):
    """The identity, with the coordinates of another transform: the action on invariant outputs.

    Args:
        transform: the transform whose coordinates are used.

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
        """Returns x."""
        return x

    def inverse(self, y: Any, t: Tensor) -> Any:
        """Returns y."""
        return y

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Identity matrices.   t: (B, k)   returns (B, 3, 3)"""
        return same_points(t)

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"transform": self.transform}


class Compose(Transform):
    """Composition of transforms, the first one applied first.

    The coordinates are those of all transforms, concatenated. The inverse applies the inverses in
    reverse order.

    Args:
        transforms: the transforms, with distinct coordinate names.
    """

    def __init__(self, transforms: Sequence[Transform]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(transforms)
        self.coordinates = tuple(c for part in transforms for c in part.coordinates)
        doubled = {name for name in self.names if self.names.count(name) > 1}
        if doubled:
            raise InputError(
                f"Two transforms in one chain share the coordinate '{sorted(doubled)[0]}': "
                "coordinate names must be unique."
            )
        self.mixes_with_padding = any(part.mixes_with_padding for part in transforms)
        self.smooth = all(part.smooth for part in transforms)
        self.in_pixels = any(part.in_pixels for part in transforms)

    def _split(self, t: Tensor) -> list[tuple[Transform, Tensor]]:
        """Each transform with its columns of t."""
        sizes = [len(part.coordinates) for part in self.parts]  # type: ignore[arg-type]
        pieces = t.split(sizes, dim=-1)
        return list(zip(self.parts, pieces, strict=True))  # type: ignore[arg-type]

    def forward(self, x: Any, t: Tensor) -> Any:
        """Applies the transforms in order."""
        for part, piece in self._split(t):
            x = part(x, piece)
        return x

    def inverse(self, y: Any, t: Tensor) -> Any:
        """Applies the inverses in reverse order."""
        for part, piece in reversed(self._split(t)):
            y = part.inverse(y, piece)
        return y

    def without_inverse(self) -> str | None:
        """Name of the first part that has no inverse; None if all parts have one."""
        for part in self.parts:
            name: str | None = part.without_inverse()  # type: ignore[operator]
            if name:
                return name
        return None

    def without_gradient(self) -> str | None:
        """Name of the first coordinate without a useful gradient; None if all have one."""
        for part in self.parts:
            name: str | None = part.without_gradient()  # type: ignore[operator]
            if name:
                return name
        return None

    def coverage(self, y: Tensor, t: Tensor) -> Tensor | None:
        """Product of the coverages of all transforms, each mapped back to the input."""
        seen: Tensor | None = None
        for part, piece in reversed(self._split(t)):
            if seen is None:
                seen = part.coverage(y, piece)
                continue
            # Only the shape of the first argument matters here; a canvas shrinks on the way back.
            new = part.coverage(seen, piece)
            seen = part.inverse(seen, piece)
            if new is not None:
                seen = seen * new
        return seen

    def point_map(self, t: Tensor, size: Size) -> Tensor:
        """Product of the matrices of all transforms.   t: (B, k)   returns (B, 3, 3)"""
        whole = same_points(t)
        with torch.autocast(t.device.type, enabled=False):
            for part, piece in self._split(t):
                whole = part.point_map(piece, size) @ whole
                size = part.canvas(size)
        return whole

    def canvas(self, size: Size) -> Size:
        """(height, width) of the output for an image of (height, width)."""
        for part in self.parts:
            size = part.canvas(size)  # type: ignore[operator]
        return size

    def window(self, canvas: Size) -> Size:
        """(height, width) of the image whose output has the size `canvas`."""
        for part in reversed(self.parts):
            canvas = part.window(canvas)  # type: ignore[operator]
        return canvas

    def settings(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {"transforms": list(self.parts)}
