r"""The exponential of 2-D affine maps as a few small products, with its gradient: one node of the graph instead of hundreds.

With the linear part split as in `closed2d`, \(M = sI + N\) and \(N^2 = qI\), and X = (M | v) the two upper rows of the algebra,

.. math:: \exp \begin{pmatrix} X \\ 0 \end{pmatrix} = \begin{pmatrix} (I | 0) + \varphi(M) X \\ 0\;0\;1 \end{pmatrix}, \qquad
          \varphi(M) = \sum_n \tfrac{M^n}{(n+1)!} = \alpha(s, q) I + \beta(s, q) N

where α and β are entire functions of s and q: their power series, and those of their derivatives, are one table of
coefficients. It runs in float64, so that nothing cancels that float32 could see.
"""

import bisect
import functools
import math
from typing import Any

import torch
from torch import Tensor

from augerino.eager import eager
from augerino.lie.bases import at_least_float32
from augerino.lie.closed2d import closed_form

# The series are cut where nothing is left to add, and used where that is within so many terms: for scales up to a factor
# of about e^2, turns up to a whole one and stretches up to e^6. Farther away, closed forms are the shorter way.
TERMS_S, TERMS_Q = 26, 24


def exp_affine2d(algebra: Tensor) -> Tensor:
    """Exponential of 2-D affine algebra elements.   algebra: (..., 3, 3)   returns (..., 3, 3)

    By the table where it reaches, on a CPU; by `closed2d.closed_form` elsewhere. The two agree to the last bits.
    """
    algebra = at_least_float32(algebra)
    if algebra.dim() != 3 or not eager(algebra):
        return closed_form(algebra)
    with torch.autocast("cpu", enabled=False):
        parts = _Parts(algebra.detach())
        return _Exponential.apply(algebra, parts) if parts.terms else closed_form(algebra)


class _Parts:
    """The algebra's upper rows X, and N, s and q of their linear part, in float64; and how many terms they need, if few."""

    def __init__(self, algebra: Tensor) -> None:
        self.rows = algebra[:, :2].double()
        linear = self.rows[:, :, :2]
        self.s = (linear[:, 0, 0] + linear[:, 1, 1]) / 2
        self.traceless = torch.addcmul(linear, _eye(2), self.s[:, None, None], value=-1)
        self.q = (self.traceless * self.traceless.mT).sum((1, 2)) / 2
        most = [float(value.abs().max()) if len(value) else 0.0 for value in (self.s, self.q)]
        counts = [bisect.bisect(reach, value) for reach, value in zip(_reach(algebra.dtype), most, strict=True)]
        fits = all(map(math.isfinite, most)) and counts[0] < TERMS_S and counts[1] < TERMS_Q
        self.terms = (counts[0] + 2, counts[1] + 2) if fits else None  # the slopes have one term less


class _Exponential(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, algebra: Tensor, parts: _Parts) -> Tensor:
        batch, (terms_s, terms_q) = len(algebra), parts.terms or (0, 0)
        powers_s = torch.linalg.vander(parts.s, N=terms_s)
        powers_q = torch.linalg.vander(parts.q, N=terms_q)
        values = torch.bmm((powers_s @ _table(terms_s, terms_q)).view(batch, 6, terms_q), powers_q[:, :, None])  # (B, 6, 1)
        phi = torch.addcmul(values[:, 1:2] * parts.traceless, _eye(2), values[:, :1])
        ctx.save_for_backward(algebra, parts.rows, parts.traceless, phi, values)
        out = algebra.new_zeros(batch, 3, 3)
        out[:, 2, 2] = 1
        out[:, :2] = torch.baddbmm(_eye(3), phi, parts.rows)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        algebra, rows, traceless, phi, values = ctx.saved_tensors
        if torch.is_grad_enabled():  # someone will differentiate this again, which plain operations can
            return torch.autograd.grad(closed_form(algebra), algebra, gradient, create_graph=True)[0], None
        with torch.autocast("cpu", enabled=False):
            upper = gradient[:, :2].double()
            on_phi = torch.bmm(upper, rows.mT)
            on_alpha = on_phi[:, 0, 0] + on_phi[:, 1, 1]
            on_beta = (on_phi * traceless).sum((1, 2))
            beta, slopes = values[:, 1:2], values[:, 2:].view(-1, 2, 2)  # slopes: rows along s and q, columns of alpha and beta
            on_s, on_q = torch.bmm(slopes, torch.stack([on_alpha, on_beta], dim=1)[:, :, None])[:, :, None].unbind(1)
            on_rows = torch.bmm(phi.mT, upper)
            on_rows[:, :, :2] += torch.addcmul(beta * on_phi, on_q, traceless.mT)
            on_rows[:, :, :2] += (on_s - beta * on_alpha[:, None, None]) / 2 * _eye(2)
            out = torch.zeros_like(algebra)
            out[:, :2] = on_rows
        return out, None


@functools.cache
def _eye(columns: int) -> Tensor:
    """The first two rows of a unit matrix."""
    with torch.inference_mode(mode=False):  # what is kept must serve outside as well
        return torch.eye(2, columns, dtype=torch.float64, device="cpu")


@functools.cache
def _reach(dtype: torch.dtype) -> tuple[list[float], list[float]]:
    """How large |s| and |q| may be so that 1, 2, ... terms suffice, for results in a precision."""
    least = torch.finfo(dtype).eps * 1e-3
    return (
        [(least * math.factorial(n)) ** (1 / n) for n in range(1, TERMS_S + 1)],
        [(least * math.factorial(2 * n)) ** (1 / n) for n in range(1, TERMS_Q + 1)],
    )


@functools.cache
def _table(terms_s: int, terms_q: int) -> Tensor:
    """Coefficients, (powers of s, 6 * powers of q): of alpha, beta, their slopes along s, their slopes along q."""
    with torch.inference_mode(mode=False):
        powers = range(terms_s + 1), range(terms_q + 1)
        coefficients = [[[_coefficient(i, 2 * j + odd) for j in powers[1]] for i in powers[0]] for odd in (0, 1)]
        both = torch.tensor(coefficients, dtype=torch.float64, device="cpu")
        along_s = both[:, 1:, :-1] * torch.arange(1, terms_s + 1, device="cpu")[:, None]
        along_q = both[:, :-1, 1:] * torch.arange(1, terms_q + 1, device="cpu")
        return torch.cat([both[:, :-1, :-1], along_s, along_q]).transpose(0, 1).flatten(1).contiguous()


def _coefficient(i: int, k: int) -> float:
    """That of s^i x^k in phi(s + x) = sum over n of (s + x)^n / (n + 1)!; x^2 is q."""
    return math.comb(i + k, i) / math.factorial(i + k + 1)

