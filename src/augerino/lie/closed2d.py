"""The exponential of 2-D affine maps in closed form, for any coordinates, device and graph."""

import torch
from torch import Tensor

from augerino.lie.bases import SATURATION, at_least_float32


def closed_form(algebra: Tensor) -> Tensor:
    r"""Exponential of 2-D affine algebra elements.   algebra: (..., 3, 3)   returns (..., 3, 3)

    Split the linear part into trace and traceless part, \(M = sI + N\). By Cayley-Hamilton,
    \(N^2 = qI\) with \(q = -\det N\), so every power series in M has the form \(\alpha I + \beta
    N\):

    \[
    e^M = e^s \left( \cosh\sqrt q\, I + \frac{\sinh\sqrt q}{\sqrt q} N \right), \qquad
    \varphi(M) = \sum_n \frac{M^n}{(n+1)!} = \alpha I + \beta N, \qquad
    \exp \begin{pmatrix} M & v \\ 0 & 0 \end{pmatrix} =
    \begin{pmatrix} e^M & \varphi(M) v \\ 0 & 1 \end{pmatrix}
    \]

    q < 0 is a rotation (cos, sin), q > 0 a stretch (cosh, sinh). Values and gradients are smooth at
    q = 0, at M = 0 and at singular M. To prevent overflow, s is clamped to ±20 and N is scaled
    down where \(\sqrt q > 20\).
    """
    algebra = at_least_float32(algebra)
    a00 = algebra[..., 0, 0]
    a01 = algebra[..., 0, 1]
    a10 = algebra[..., 1, 0]
    a11 = algebra[..., 1, 1]
    s = ((a00 + a11) / 2).clamp(-SATURATION, SATURATION)
    n00 = (a00 - a11) / 2
    q = n00 * n00 + a01 * a10
    over = q > SATURATION**2
    shrink = torch.where(over, SATURATION / torch.where(over, q, 1.0).sqrt(), 1.0)
    n00 = n00 * shrink
    n01 = a01 * shrink
    n10 = a10 * shrink
    q = q * shrink * shrink

    cosh, sinhc = _cosh_sinhc(q)
    e = s.exp()
    p = e * cosh
    r = e * sinhc
    alpha, beta = _phi(s, q, e=e, cosh=cosh, sinhc=sinhc)
    v0 = algebra[..., 0, 2]
    v1 = algebra[..., 1, 2]
    zero = torch.zeros_like(s)
    one = torch.ones_like(s)
    return _stack(
        (p + r * n00, r * n01, alpha * v0 + beta * (n00 * v0 + n01 * v1)),
        (r * n10, p - r * n00, alpha * v1 + beta * (n10 * v0 - n00 * v1)),
        (zero, zero, one),
    )


def inverse_affine2d(matrix: Tensor) -> Tensor:
    """Inverse of 2-D affine matrices.   matrix: (..., 3, 3)   returns (..., 3, 3)

    In closed form, because not every export format supports `torch.linalg.inv`.
    """
    first, second, last = (row.unbind(-1) for row in matrix.unbind(-2))
    a, b, x = first
    c, d, y = second
    det = a * d - b * c
    return _stack(
        (d / det, -b / det, (b * y - d * x) / det),
        (-c / det, a / det, (c * x - a * y) / det),
        last,
    )


def _stack(*rows: tuple[Tensor, ...]) -> Tensor:
    """Matrices from the tensors of their entries, each (...).   returns (..., rows, columns)"""
    return torch.stack([torch.stack(row, dim=-1) for row in rows], dim=-2)


def _cosh_sinhc(q: Tensor) -> tuple[Tensor, Tensor]:
    r"""\(\cosh\sqrt q\) and \(\sinh(\sqrt q) / \sqrt q\) as entire functions of q.

    A power series for |q| < 1, else cosh and sinh for q > 0 and cos and sin for q < 0.
    """
    near = q.abs() < 1
    small = torch.where(near, q, 0.0)
    cosh_series = torch.ones_like(q)
    sinhc_series = torch.ones_like(q)
    for n in range(20, 0, -2):
        cosh_series = 1 + cosh_series * small / (n * (n - 1))
        sinhc_series = 1 + sinhc_series * small / (n * (n + 1))
    root = torch.where(near, 1.0, q.abs()).sqrt()
    stretch = q > 0
    # Each branch gets valid arguments only: in the backward pass, Inf times zero would be NaN.
    real = torch.where(stretch, root, 1.0)
    cosh = torch.where(stretch, real.cosh(), root.cos())
    sinhc = torch.where(stretch, real.sinh(), root.sin()) / root
    return torch.where(near, cosh_series, cosh), torch.where(near, sinhc_series, sinhc)


def _phi(s: Tensor, q: Tensor, *, e: Tensor, cosh: Tensor, sinhc: Tensor) -> tuple[Tensor, Tensor]:
    r"""\(\alpha, \beta\) with \(\varphi(sI + N) = \alpha I + \beta N\).

    Three formulas, each used where it does not suffer from cancellation.
    """
    near = s * s + q.abs() < 1
    stretch = ~near & (q > s * s / 4)
    turn = ~near & ~stretch

    # Near zero: Horner's scheme on pairs, since (pI + rN)(sI + N) = (ps + rq)I + (p + rs)N.
    s0 = torch.where(near, s, 0.0)
    q0 = torch.where(near, q, 0.0)
    p = torch.ones_like(s)
    r = torch.zeros_like(s)
    for n in range(22, 0, -1):
        p_next = 1 + (p * s0 + r * q0) / (n + 1)
        r = (p + r * s0) / (n + 1)
        p = p_next

    # Distinct real eigenvalues s ± root: mean and divided difference of phi(z) = (e^z - 1) / z.
    # Either eigenvalue may be 0.
    s1 = torch.where(stretch, s, 0.0)
    root = torch.where(stretch, q, 1.0).sqrt()
    plus = _phi_scalar(s1 + root)
    minus = _phi_scalar(s1 - root)
    alpha1 = (plus + minus) / 2
    beta1 = (plus - minus) / (2 * root)

    # Elsewhere M is far from singular: phi(M) = M^-1 (e^M - I) with M^-1 = (sI - N) / (s^2 - q).
    s2 = torch.where(turn, s, 1.0)
    q2 = torch.where(turn, q, 0.0)
    e2 = torch.where(turn, e, 1.0)
    cosh2 = torch.where(turn, cosh, 1.0)
    sinhc2 = torch.where(turn, sinhc, 1.0)
    det = s2 * s2 - q2
    rest = e2 * cosh2 - 1
    alpha2 = (s2 * rest - q2 * e2 * sinhc2) / det
    beta2 = (s2 * e2 * sinhc2 - rest) / det

    alpha = torch.where(near, p, torch.where(stretch, alpha1, alpha2))
    beta = torch.where(near, r, torch.where(stretch, beta1, beta2))
    return alpha, beta


def _phi_scalar(z: Tensor) -> Tensor:
    """(e^z - 1) / z, smooth at 0."""
    near = z.abs() < 0.5
    small = torch.where(near, z, 0.0)
    large = torch.where(near, 1.0, z)
    series = torch.ones_like(z)
    for n in range(14, 0, -1):
        series = 1 + series * small / (n + 1)
    return torch.where(near, series, torch.expm1(large) / large)
