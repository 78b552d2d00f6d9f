"""Curvature of a loss at a solution: largest Hessian eigenvalues and effective dimension."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from augerino.errors import InputError
from augerino.paper.diagnostics.surface import LossSurface

# More than any solution has needed so far. For a Hessian of noise, Lanczos does not converge.
_RESTARTS = 50


@dataclass(frozen=True)
class Curvature:
    """The largest eigenvalues of a Hessian, in descending order."""

    eigenvalues: list[float]
    size: int  # number of rows of the Hessian
    products: int  # Hessian-vector products that were computed

    def effective_dimension(self, z: float = 1.0) -> float:
        """A lower bound of the effective dimension, from the largest eigenvalues alone."""
        return effective_dimension(self.eigenvalues, z)

    def last_term(self, z: float = 1.0) -> float:
        """Contribution of the smallest eigenvalue: an upper bound for each omitted one."""
        return effective_dimension(self.eigenvalues[-1:], z)


def effective_dimension(eigenvalues: Iterable[float] | Tensor, z: float = 1.0) -> float:
    r"""Number of directions that the data determine: \(\sum_i \lambda_i / (\lambda_i + z)\).

    Eigenvalues far above z count as 1, those far below as 0. A smaller value means a flatter
    minimum. Negative eigenvalues count as 0.

    Reference: Maddox, Benton and Wilson (2020), Eq. 2.

    Args:
        eigenvalues: eigenvalues of the Hessian, in any order.
        z: the eigenvalue that counts as 1/2, above 0.

    Example:
        >>> effective_dimension([1000.0, 1.0, 0.0], z=1.0)
        1.499000999000999
    """
    if not z > 0:
        raise InputError(f"z must be above 0, but got {z}.")
    values = eigenvalues.tolist() if isinstance(eigenvalues, Tensor) else eigenvalues
    ascending = sorted(max(value, 0.0) for value in values)
    return float(sum(value / (value + z) for value in ascending))


def curvature(
    surface: LossSurface, count: int = 20, *, tolerance: float = 1e-3, seed: int = 0
) -> Curvature:
    r"""The `count` largest eigenvalues of the Hessian \(\partial^2 L / \partial w^2\).

    Uses implicitly restarted Lanczos (ARPACK, `scipy.sparse.linalg.eigsh`), which needs only
    Hessian-vector products. Each product is two backward passes, exact up to rounding. Requires the
    extra flatness.

    Args:
        surface: the loss as a function of the weights.
        count: number of eigenvalues, below the number of weights.
        tolerance: largest residual of an eigenvector, relative to its eigenvalue. The error of the
            eigenvalue is smaller.
        seed: seed of the start vector.
    """
    eigsh, operator, no_convergence = _arpack()
    size = surface.size
    products = 0
    if not 1 <= count < size:
        raise InputError(
            f"count must be at least 1 and below the number of weights, {size}, but got {count}."
        )

    def product(v: Any) -> Any:
        nonlocal products
        products += 1
        return hessian_product(surface, torch.from_numpy(v.reshape(-1))).numpy()

    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(size, dtype=torch.float64, generator=generator).numpy()
    if not product(start).any():  # ARPACK raises an error for a zero matrix
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
            f"Only {len(error.eigenvalues)} of {count} eigenvalues converged in {products} "
            "products: request fewer, allow a larger tolerance, or give the model in float64."
        ) from error
    return Curvature(sorted(found.tolist(), reverse=True), size, products)


def hessian_product(surface: LossSurface, v: Tensor) -> Tensor:
    """The Hessian of a loss surface times a vector.   (size,) -> (size,) float64 on the CPU"""
    weights = surface.weights
    pieces = v.split([weight.numel() for weight in weights])
    parts = [
        piece.reshape(weight.shape).to(weight)
        for piece, weight in zip(pieces, weights, strict=True)
    ]
    total = torch.zeros(surface.size, dtype=torch.float64)
    with torch.enable_grad():
        for loss in surface.losses():
            gradient = torch.autograd.grad(loss, weights, create_graph=True, materialize_grads=True)
            products = [(g * part).sum() for g, part in zip(gradient, parts, strict=True)]
            slope = torch.stack(products).sum()
            if slope.requires_grad:  # false if the loss is linear in every weight
                second = torch.autograd.grad(slope, weights, materialize_grads=True)
                total += torch.cat([part.flatten() for part in second]).double().cpu()
    return total


def _arpack() -> tuple[Any, Any, Any]:
    try:
        from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
    except ImportError as error:
        raise InputError(
            'Hessian eigenvalues need scipy: pip install "augerino[flatness]"'
        ) from error
    return eigsh, LinearOperator, ArpackNoConvergence
