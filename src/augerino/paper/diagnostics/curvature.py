"""How sharply a loss bends at a solution: the leading eigenvalues of its Hessian, and how many directions the data determine."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.paper.diagnostics.surface import LossSurface

_RESTARTS = (
    50  # more than any solution met so far has needed; a Hessian that is noise would go on for ever
)


@dataclass(frozen=True)
class Curvature:
    """The leading eigenvalues of a Hessian, largest first, of how many in all, and what they cost."""

    eigenvalues: list[float]
    size: int
    products: int

    def effective_dimension(self, z: float = 1.0) -> float:
        """`effective_dimension` of the leading eigenvalues: all others would only add to it."""
        return effective_dimension(self.eigenvalues, z)

    def last_term(self, z: float = 1.0) -> float:
        """What the smallest eigenvalue here adds, 0..1: each that is left out would add at most as much."""
        return effective_dimension(self.eigenvalues[-1:], z)


def effective_dimension(eigenvalues: Iterable[float] | Tensor, z: float = 1.0) -> float:
    r"""How many directions of weight space the data determine: \(N_\mathrm{eff}(H, z) = \sum_i \lambda_i / (\lambda_i + z)\).

    A direction along which the loss bends much more than z counts as 1, one along which it bends much less as 0; the fewer, the
    flatter (Maddox, Benton and Wilson 2020, Eq. 2). It is meant for minima: an eigenvalue below 0 counts as 0.

    Args:
        eigenvalues: of the Hessian, in any order.
        z: the curvature that counts as a half, above 0.

    Example:
        >>> effective_dimension([1000.0, 1.0, 0.0], z=1.0)
        1.499000999000999
    """
    if not z > 0:
        raise InputError(f"z is a curvature above 0, but got {z}.")
    values = eigenvalues.tolist() if isinstance(eigenvalues, Tensor) else eigenvalues
    return float(sum(value / (value + z) for value in sorted(max(value, 0.0) for value in values)))


def curvature(
    surface: LossSurface, count: int = 20, *, tolerance: float = 1e-3, seed: int = 0
) -> Curvature:
    r"""The `count` largest eigenvalues of the Hessian \(\partial^2 L / \partial w^2\) of a loss surface.

    By implicitly restarted Lanczos (`scipy.sparse.linalg.eigsh`: ARPACK), which needs products of the Hessian with vectors only;
    each is two passes back through the network, exact up to rounding. Needs the extra flatness.

    Args:
        surface: the loss as a function of the weights.
        count: how many, fewer than there are weights.
        tolerance: how large the residual of an eigenvector may be, as a share of its eigenvalue; the eigenvalue itself is nearer.
        seed: of the vector that Lanczos starts from.
    """
    eigsh, operator, no_convergence = _arpack()
    size, products = surface.size, 0
    if not 1 <= count < size:
        raise InputError(
            f"count must lie between 1 and {size - 1}, one less than there are weights, but got {count}."
        )

    def product(v: Any) -> Any:
        nonlocal products
        products += 1
        return hessian_product(surface, torch.from_numpy(v.reshape(-1))).numpy()

    start = torch.randn(
        size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    ).numpy()
    if not product(start).any():  # which ARPACK would call an error
        return Curvature([0.0] * count, size, products)
    hessian = operator((size, size), matvec=product, dtype=start.dtype)
    try:
        found = eigsh(
            hessian,
            count,
            which="LA",
            v0=start,
            tol=tolerance,
            maxiter=_RESTARTS,
            return_eigenvectors=False,
        )
    except no_convergence as error:
        raise InputError(
            f"Only {len(error.eigenvalues)} of {count} eigenvalues were found in {products} products: ask for fewer, allow a "
            "larger tolerance, or give the model in float64."
        ) from error
    return Curvature(sorted(found.tolist(), reverse=True), size, products)


def hessian_product(surface: LossSurface, v: Tensor) -> Tensor:
    """The Hessian of a loss surface times a vector, batch by batch.   v: (size,)   returns (size,) in float64 on the CPU"""
    weights = surface.weights
    parts = [
        part.reshape(weight.shape).to(weight)
        for part, weight in zip(v.split([w.numel() for w in weights]), weights, strict=True)
    ]
    total = torch.zeros(surface.size, dtype=torch.float64)
    with torch.enable_grad():
        for loss in surface.losses():
            gradient = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
            slope = torch.stack(
                [(g * part).sum() for g, part in zip(gradient, parts, strict=True)]
            ).sum()
            if slope.requires_grad:  # it does not where the loss is linear in every weight
                bent = torch.autograd.grad(slope, weights, materialize_grads=True)
                total += torch.cat([part.flatten() for part in bent]).double().cpu()
    return total


def _arpack() -> tuple[Any, Any, Any]:
    try:
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
    except ImportError as error:
        raise InputError(
            'Eigenvalues of a Hessian need scipy: pip install "augerino[flatness]"'
        ) from error
    return eigsh, LinearOperator, ArpackNoConvergence
