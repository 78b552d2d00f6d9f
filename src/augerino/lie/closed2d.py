"""The exponential of 2-D affine maps in closed form: for any size of coordinates, on any device, in any graph."""

import torch
from torch import Tensor

from augerino.lie.bases import SATURATION, at_least_float32


def closed_form(algebra: Tensor) -> Tensor:
    r"""Exponential of 2-D affine algebra elements in closed form.   algebra: (..., 3, 3)   returns (..., 3, 3)

    With the linear part split into trace and traceless part, \(M = sI + N\), Cayley-Hamilton gives
    \(N^2 = qI\) with \(q = -\det N\), so every power series in M is \(\alpha I + \beta N\):

    .. math:: e^M = e^s (\cosh\sqrt q\, I + \tfrac{\sinh\sqrt q}{\sqrt q} N), \qquad
              \varphi(M) = \sum_n \tfrac{M^n}{(n+1)!} = \alpha I + \beta N, \qquad
              \exp \begin{pmatrix} M & v \\ 0 & 0 \end{pmatrix} =
              \begin{pmatrix} e^M & \varphi(M) v \\ 0 & 1 \end{pmatrix}

    q < 0 turns (cos and sin), q > 0 stretches (cosh and sinh). Values and gradients are smooth through q = 0, M = 0
    and singular M. Beyond a magnification of e^20 by s, or by q, the result saturates instead of overflowing.
    """
    algebra = at_least_float32(algebra)
    a00, a01, a10, a11 = (
        algebra[..., 0, 0],
        algebra[..., 0, 1],
        algebra[..., 1, 0],
        algebra[..., 1, 1],
    )
    s = ((a00 + a11) / 2).clamp(-SATURATION, SATURATION)
    n00 = (a00 - a11) / 2
    q = n00 * n00 + a01 * a10
    over = q > SATURATION**2
    shrink = torch.where(over, SATURATION / torch.where(over, q, 1.0).sqrt(), 1.0)
    n00, n01, n10, q = n00 * shrink, a01 * shrink, a10 * shrink, q * shrink * shrink

    cosh, sinhc = _cosh_sinhc(q)
    e = s.exp()
    p, r = e * cosh, e * sinhc
    alpha, beta = _phi(s, q, e, cosh, sinhc)
    v0, v1 = algebra[..., 0, 2], algebra[..., 1, 2]
    zero, one = torch.zeros_like(s), torch.ones_like(s)
    rows = (
        (p + r * n00, r * n01, alpha * v0 + beta * (n00 * v0 + n01 * v1)),
        (r * n10, p - r * n00, alpha * v1 + beta * (n10 * v0 - n00 * v1)),
        (zero, zero, one),
    )
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def inverse_affine2d(matrix: Tensor) -> Tensor:
    """Inverse of 2-D affine matrices in closed form, which any export can hold.   matrix: (..., 3, 3)   returns (..., 3, 3)"""
    (a, b, x), (c, d, y), last = (row.unbind(-1) for row in matrix.unbind(-2))
    det = a * d - b * c
    rows = (
        (d / det, -b / det, (b * y - d * x) / det),
        (-c / det, a / det, (c * x - a * y) / det),
        last,
    )
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def _cosh_sinhc(q: Tensor) -> tuple[Tensor, Tensor]:
    """cosh(sqrt q) and sinh(sqrt q) / sqrt q as entire functions of q: a series near 0, cosh/sinh above, cos/sin below."""
    near = q.abs() < 1
    small = torch.where(near, q, 0.0)
    cosh_series, sinhc_series = torch.ones_like(q), torch.ones_like(q)
    for n in range(20, 0, -2):
        cosh_series = 1 + cosh_series * small / (n * (n - 1))
        sinhc_series = 1 + sinhc_series * small / (n * (n + 1))
    root = torch.where(near, 1.0, q.abs()).sqrt()
    stretch = q > 0
    real = torch.where(
        stretch, root, 1.0
    )  # each branch sees only arguments it can take: no Inf to multiply by zero
    cosh = torch.where(stretch, real.cosh(), root.cos())
    sinhc = torch.where(stretch, real.sinh(), root.sin()) / root
    return torch.where(near, cosh_series, cosh), torch.where(near, sinhc_series, sinhc)


def _phi(s: Tensor, q: Tensor, e: Tensor, cosh: Tensor, sinhc: Tensor) -> tuple[Tensor, Tensor]:
    """alpha, beta with phi(sI + N) = alpha I + beta N, by three formulas, each used where it does not cancel."""
    near = s * s + q.abs() < 1
    stretch = ~near & (q > s * s / 4)
    turn = ~near & ~stretch

    # Near zero: Horner's scheme on pairs, since (pI + rN)(sI + N) = (ps + rq)I + (p + rs)N.
    s0, q0 = torch.where(near, s, 0.0), torch.where(near, q, 0.0)
    p, r = torch.ones_like(s), torch.zeros_like(s)
    for n in range(22, 0, -1):
        p, r = 1 + (p * s0 + r * q0) / (n + 1), (p + r * s0) / (n + 1)

    # Two distinct real eigenvalues s ± root: mean and divided difference of phi(z) = (e^z - 1) / z; either may be 0.
    s1 = torch.where(stretch, s, 0.0)
    root = torch.where(stretch, q, 1.0).sqrt()
    plus, minus = _phi_scalar(s1 + root), _phi_scalar(s1 - root)

    # Otherwise M is well away from singular: phi(M) = M^-1 (e^M - I) with M^-1 = (sI - N) / (s^2 - q).
    s2, q2 = torch.where(turn, s, 1.0), torch.where(turn, q, 0.0)
    e2, cosh2, sinhc2 = (
        torch.where(turn, e, 1.0),
        torch.where(turn, cosh, 1.0),
        torch.where(turn, sinhc, 1.0),
    )
    det = s2 * s2 - q2
    rest = e2 * cosh2 - 1
    alpha2 = (s2 * rest - q2 * e2 * sinhc2) / det
    beta2 = (s2 * e2 * sinhc2 - rest) / det

    alpha = torch.where(near, p, torch.where(stretch, (plus + minus) / 2, alpha2))
    beta = torch.where(near, r, torch.where(stretch, (plus - minus) / (2 * root), beta2))
    return alpha, beta


def _phi_scalar(z: Tensor) -> Tensor:
    """(e^z - 1) / z, smooth through 0."""
    near = z.abs() < 0.5
    small, large = torch.where(near, z, 0.0), torch.where(near, 1.0, z)
    series = torch.ones_like(z)
    for n in range(14, 0, -1):
        series = 1 + series * small / (n + 1)
    return torch.where(near, series, torch.expm1(large) / large)
