r"""The exponential of 2-D affine maps and its gradient, from one table of series coefficients.

Split the linear part as in `closed2d`, \(M = sI + N\) with \(N^2 = qI\), and let \(X = (M | v)\)
be the two upper rows of the algebra element. Then

\[
\exp \begin{pmatrix} X \\ 0 \end{pmatrix} =
\begin{pmatrix} (I | 0) + \varphi(M) X \\ 0\;0\;1 \end{pmatrix}, \qquad
\varphi(M) = \sum_n \frac{M^n}{(n+1)!} = \alpha(s, q) I + \beta(s, q) N
\]

where \(\alpha\) and \(\beta\) are entire functions of s and q. The whole map is one node of the
autograd graph instead of hundreds. It runs in float64, so that cancellation stays below float32
resolution, and in numpy, whose calls cost less than torch's for a hundred small matrices. Arrays
have the matrix dimensions first and the batch last.
"""

import bisect
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from augerino.lie.bases import at_least_float32, combine
from augerino.lie.closed2d import closed_form
from augerino.lie.eager import eager

Array = npt.NDArray[np.float64]

# Most terms of the series in s and in q. They suffice for scale factors up to about e^2, rotations
# up to a full turn and stretches up to e^6; beyond that, the closed form is used.
TERMS_S = 26
TERMS_Q = 24

_UNITS = torch.eye(6, 9).reshape(6, 3, 3)  # one generator for each of the six entries of X


def exp_affine2d(algebra: Tensor) -> Tensor:
    """Exponential of 2-D affine algebra elements.   algebra: (..., 3, 3)   returns (..., 3, 3)"""
    entries = algebra[..., :2, :].reshape(-1, 6)
    return element_affine2d(entries, _UNITS.to(algebra.device)).reshape(algebra.shape)


def element_affine2d(
    t: Tensor, generators: Tensor, scales: Sequence[float] | None = None
) -> Tensor:
    r"""Group elements \(\exp(\sum_i t_i c_i G_i)\).

    Uses the table on a CPU where its series converge, and `closed2d.closed_form` elsewhere. Both
    agree up to rounding.

    Args:
        t: coordinates, (B, k).
        generators: one per coordinate, (k, 3, 3).
        scales: factors c of the generators; 1 by default.

    Returns:
        Matrices, (B, 3, 3).
    """
    t = at_least_float32(t)
    if t.shape[0] and eager(t, generators):
        algebra = _Algebra(t, generators, scales)
        if algebra.terms is not None:
            return _Element.apply(t, algebra)  # type: ignore[no-untyped-call]
    if scales is not None:
        t = t * t.new_tensor(scales)
    return closed_form(combine(t, generators))


class _Algebra:
    """Algebra elements X, (2, 3, B), and the parts of their linear part M = sI + N.

    Attributes:
        basis: upper rows of the scaled generators, (k, 6).
        rows: X, (2, 3, B).
        s: half the trace of M, (B).
        traceless: N, (2, 2, B).
        q: the number with N^2 = qI, (B).
        terms: terms needed in s and in q; None if the series are too long or a value is not finite.
    """

    def __init__(self, t: Tensor, generators: Tensor, scales: Sequence[float] | None) -> None:
        upper = generators.detach().numpy()[:, :2]
        self.basis = upper.reshape(-1, 6).astype(np.float64)
        if scales is not None:
            self.basis *= np.array(scales)[:, None]
        with np.errstate(all="ignore"):  # NaN and overflow are left to the closed form
            self.rows = (self.basis.T @ t.detach().numpy().T).reshape(2, 3, -1)
            (a, b, _), (c, d, _) = self.rows
            n = (a - d) / 2
            self.s = (a + d) / 2
            self.q = n * n + b * c
            self.traceless = np.array([[n, b], [c, -n]])
        self.terms = self._count_terms(t.dtype)

    def _count_terms(self, dtype: torch.dtype) -> list[int] | None:
        largest_s = float(np.abs(self.s).max())
        largest_q = float(np.abs(self.q).max())
        if not (math.isfinite(largest_s) and math.isfinite(largest_q)):
            return None
        radii_s, radii_q = _radii(dtype)
        terms_s = bisect.bisect(radii_s, largest_s) + 1
        terms_q = bisect.bisect(radii_q, largest_q) + 1
        if terms_s > TERMS_S or terms_q > TERMS_Q:
            return None
        return [terms_s, terms_q]


class _Element(torch.autograd.Function):
    """The exponential of algebra elements, with the gradient for their coordinates."""

    @staticmethod
    def forward(ctx: Any, t: Tensor, algebra: _Algebra) -> Tensor:
        rows = algebra.rows
        terms_s, terms_q = algebra.terms or [1, 1]
        series = _table(terms_s, terms_q) @ _powers(algebra.s, terms_s)
        series = series.reshape(6, terms_q, -1)
        # alpha, beta and their derivatives along s and along q, (6, B)
        values = np.einsum("ijb,jb->ib", series, _powers(algebra.q, terms_q))
        phi = values[1] * algebra.traceless
        phi[0, 0] += values[0]
        phi[1, 1] += values[0]
        ctx.save_for_backward(t)
        ctx.algebra = algebra
        ctx.values = values
        ctx.phi = phi
        upper = phi[:, :1] * rows[0] + phi[:, 1:] * rows[1]
        upper[0, 0] += 1
        upper[1, 1] += 1
        out = t.new_zeros(len(t), 3, 3)
        matrix = out.numpy()
        matrix[:, :2] = upper.transpose(2, 0, 1)
        matrix[:, 2, 2] = 1
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (t,) = ctx.saved_tensors
        algebra = ctx.algebra
        phi = ctx.phi
        if torch.is_grad_enabled():  # a second derivative is needed: use plain operations
            generators = np.pad(algebra.basis.reshape(-1, 2, 3), ((0, 0), (0, 1), (0, 0)))
            matrix = closed_form(combine(t, torch.from_numpy(generators)))
            return torch.autograd.grad(matrix, t, gradient, create_graph=True)[0], None
        _, beta, alpha_s, beta_s, alpha_q, beta_q = ctx.values
        upper = np.ascontiguousarray(gradient.numpy()[:, :2].transpose(1, 2, 0), np.float64)
        grad_phi = (upper[:, None] * algebra.rows).sum(2)
        grad_alpha = grad_phi[0, 0] + grad_phi[1, 1]
        grad_beta = (grad_phi * algebra.traceless).sum((0, 1))
        grad_s = alpha_s * grad_alpha + beta_s * grad_beta
        grad_q = alpha_q * grad_alpha + beta_q * grad_beta
        grad_linear = beta * grad_phi + grad_q * algebra.traceless.transpose(1, 0, 2)
        grad_trace = (grad_s - beta * grad_alpha) / 2
        grad_linear[0, 0] += grad_trace
        grad_linear[1, 1] += grad_trace
        grad_rows = phi[0, :, None] * upper[0] + phi[1, :, None] * upper[1]
        grad_rows[:, :2] += grad_linear
        out = torch.empty_like(t)
        out.numpy()[...] = (algebra.basis @ grad_rows.reshape(6, -1)).T
        return out, None


def _powers(x: Array, terms: int) -> Array:
    """1, x, x^2, ...   x: (B)   returns (terms, B)"""
    powers = np.empty((terms, len(x)))
    powers[0] = 1
    powers[1:] = x
    return np.multiply.accumulate(powers, axis=0, out=powers)


@functools.cache
def _radii(dtype: torch.dtype) -> tuple[list[float], list[float]]:
    """Largest |s| and |q| for which 1, 2, ... terms suffice, also for derivatives, in a dtype."""
    least = torch.finfo(dtype).eps * 1e-3
    radii_s = [(least * math.factorial(n - 1)) ** (1 / n) for n in range(1, TERMS_S + 1)]
    radii_q = [(least * math.factorial(2 * n - 1)) ** (1 / n) for n in range(1, TERMS_Q + 1)]
    return radii_s, radii_q


@functools.cache
def _table(terms_s: int, terms_q: int) -> Array:
    """Series coefficients of alpha, beta and their derivatives along s and along q.

    Returns:
        (6 * terms_q, terms_s), in the order alpha, beta, alpha_s, beta_s, alpha_q, beta_q.
    """
    alpha = _coefficients(terms_s, terms_q, odd=0)
    beta = _coefficients(terms_s, terms_q, odd=1)
    both = np.array([alpha, beta])
    values = both[:, :-1, :-1]
    powers_s = np.arange(1, terms_s + 1)
    powers_q = np.arange(1, terms_q + 1)[:, None]
    along_s = both[:, :-1, 1:] * powers_s
    along_q = both[:, 1:, :-1] * powers_q
    return np.concatenate([values, along_s, along_q]).reshape(-1, terms_s)


def _coefficients(terms_s: int, terms_q: int, odd: int) -> list[list[float]]:
    """Coefficients of s^i q^j, (terms_q + 1, terms_s + 1): of alpha, or of beta if odd is 1."""
    return [[_coefficient(i, 2 * j + odd) for i in range(terms_s + 1)] for j in range(terms_q + 1)]


def _coefficient(i: int, k: int) -> float:
    """Coefficient of s^i x^k in phi(s + x) = sum over n of (s + x)^n / (n + 1)!, where x^2 = q."""
    return math.comb(i + k, i) / math.factorial(i + k + 1)
