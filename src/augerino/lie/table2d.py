r"""The exponential of 2-D affine maps with its gradient, from one table of coefficients: one node of the graph, not hundreds.

With the linear part split as in `closed2d`, \(M = sI + N\) and \(N^2 = qI\), and X = (M | v) the two upper rows of the algebra,

.. math:: \exp \begin{pmatrix} X \\ 0 \end{pmatrix} = \begin{pmatrix} (I | 0) + \varphi(M) X \\ 0\;0\;1 \end{pmatrix}, \qquad
          \varphi(M) = \sum_n \tfrac{M^n}{(n+1)!} = \alpha(s, q) I + \beta(s, q) N

where α and β are entire functions of s and q. Runs in float64, so that nothing cancels that float32 could see, and in numpy,
since a hundred small matrices are little work and a call of torch costs several of numpy's. Entries come first here, items last.
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

# The series are cut where nothing is left to add, and used where that is within so many terms: for scales up to a factor
# of about e^2, turns up to a whole one and stretches up to e^6. Farther away, the closed form takes over.
TERMS_S, TERMS_Q = 26, 24

_UNITS = torch.eye(6, 9).reshape(6, 3, 3)  # generators of every affine map, by its six entries


def exp_affine2d(algebra: Tensor) -> Tensor:
    """Exponential of 2-D affine algebra elements.   algebra: (..., 3, 3)   returns (..., 3, 3)"""
    entries = algebra[..., :2, :].reshape(-1, 6)
    return element_affine2d(entries, _UNITS.to(algebra.device)).reshape(algebra.shape)


def element_affine2d(
    t: Tensor, generators: Tensor, scales: Sequence[float] | None = None
) -> Tensor:
    """The group elements exp(sum of t_i G_i).   t: (B, k)   generators: (k, 3, 3)   returns (B, 3, 3)

    By the table where it reaches, on a CPU; by `closed2d.closed_form` elsewhere. The two agree to the last bits.

    Args:
        t: coordinates.
        generators: one a coordinate.
        scales: a number by which each generator is multiplied.
    """
    t = at_least_float32(t)
    if t.shape[0] and eager(t, generators):
        algebra = _Algebra(t, generators, scales)
        if algebra.terms is not None:
            return _Element.apply(t, algebra)  # type: ignore[no-untyped-call]
    return closed_form(combine(t if scales is None else t * t.new_tensor(scales), generators))


class _Algebra:
    """X (2, 3, B), and s, q (B) and N (2, 2, B) of its linear part; and how many terms these need, if few."""

    def __init__(self, t: Tensor, generators: Tensor, scales: Sequence[float] | None) -> None:
        self.basis = generators.detach().numpy()[:, :2].reshape(-1, 6).astype(np.float64)
        if scales is not None:
            self.basis *= np.array(scales)[:, None]
        with np.errstate(all="ignore"):  # what is no number, or a huge one, goes to the closed form
            self.rows = (self.basis.T @ t.detach().numpy().T).reshape(2, 3, -1)
            (a, b, _), (c, d, _) = self.rows
            n = (a - d) / 2
            self.s, self.q, self.traceless = (a + d) / 2, n * n + b * c, np.array([[n, b], [c, -n]])
        most = float(np.abs(self.s).max()), float(np.abs(self.q).max())
        terms = [
            bisect.bisect(reach, value) + 1
            for reach, value in zip(_reach(t.dtype), most, strict=True)
        ]
        fits = all(map(math.isfinite, most)) and terms[0] <= TERMS_S and terms[1] <= TERMS_Q
        self.terms = terms if fits else None


class _Element(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, t: Tensor, algebra: _Algebra) -> Tensor:
        rows, terms = algebra.rows, algebra.terms or [1, 1]
        series = (_table(*terms) @ _powers(algebra.s, terms[0])).reshape(6, terms[1], -1)
        values = np.einsum(
            "ijb,jb->ib", series, _powers(algebra.q, terms[1])
        )  # alpha, beta and their slopes
        phi = values[1] * algebra.traceless
        phi[0, 0] += values[0]
        phi[1, 1] += values[0]
        ctx.save_for_backward(t)
        ctx.algebra, ctx.values, ctx.phi = algebra, values, phi
        upper = phi[:, :1] * rows[0] + phi[:, 1:] * rows[1]
        upper[0, 0] += 1
        upper[1, 1] += 1
        out = t.new_zeros(len(t), 3, 3)
        matrix = out.numpy()
        matrix[:, :2], matrix[:, 2, 2] = upper.transpose(2, 0, 1), 1
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (t,), algebra, phi = ctx.saved_tensors, ctx.algebra, ctx.phi
        if (
            torch.is_grad_enabled()
        ):  # someone will differentiate this again, which plain operations can
            generators = np.pad(algebra.basis.reshape(-1, 2, 3), ((0, 0), (0, 1), (0, 0)))
            matrix = closed_form(combine(t, torch.from_numpy(generators)))
            return torch.autograd.grad(matrix, t, gradient, create_graph=True)[0], None
        _, beta, *slopes = ctx.values
        upper = np.ascontiguousarray(gradient.numpy()[:, :2].transpose(1, 2, 0), np.float64)
        on_phi = (upper[:, None] * algebra.rows).sum(2)
        on_alpha, on_beta = on_phi[0, 0] + on_phi[1, 1], (on_phi * algebra.traceless).sum((0, 1))
        on_s, on_q = (
            slopes[0] * on_alpha + slopes[1] * on_beta,
            slopes[2] * on_alpha + slopes[3] * on_beta,
        )
        on_linear = beta * on_phi + on_q * algebra.traceless.transpose(1, 0, 2)
        on_trace = (on_s - beta * on_alpha) / 2
        on_linear[0, 0] += on_trace
        on_linear[1, 1] += on_trace
        on_rows = phi[0, :, None] * upper[0] + phi[1, :, None] * upper[1]
        on_rows[:, :2] += on_linear
        out = torch.empty_like(t)
        out.numpy()[...] = (algebra.basis @ on_rows.reshape(6, -1)).T
        return out, None


def _powers(x: Array, terms: int) -> Array:
    """1, x, x^2, ...   returns (terms, B)"""
    powers = np.empty((terms, len(x)))
    powers[0], powers[1:] = 1, x
    return np.multiply.accumulate(powers, axis=0, out=powers)


@functools.cache
def _reach(dtype: torch.dtype) -> tuple[list[float], list[float]]:
    """How large |s| and |q| may be so that 1, 2, ... terms suffice, slopes included, for results in a precision."""
    least = torch.finfo(dtype).eps * 1e-3
    return (
        [(least * math.factorial(n - 1)) ** (1 / n) for n in range(1, TERMS_S + 1)],
        [(least * math.factorial(2 * n - 1)) ** (1 / n) for n in range(1, TERMS_Q + 1)],
    )


@functools.cache
def _table(terms_s: int, terms_q: int) -> Array:
    """Coefficients, (6 * powers of q, powers of s): of alpha, beta, their slopes along s, their slopes along q."""
    powers_s, powers_q = range(terms_s + 1), range(terms_q + 1)
    both = np.array(
        [[[_coefficient(i, 2 * j + odd) for i in powers_s] for j in powers_q] for odd in (0, 1)]
    )
    along_s = both[:, :-1, 1:] * np.arange(1, terms_s + 1)
    along_q = both[:, 1:, :-1] * np.arange(1, terms_q + 1)[:, None]
    return np.concatenate([both[:, :-1, :-1], along_s, along_q]).reshape(-1, terms_s)


def _coefficient(i: int, k: int) -> float:
    """That of s^i x^k in phi(s + x) = sum over n of (s + x)^n / (n + 1)!; x^2 is q."""
    return math.comb(i + k, i) / math.factorial(i + k + 1)
