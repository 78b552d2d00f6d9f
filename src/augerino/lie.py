"""Lie algebras as data, and their exponential maps. Pure tensor functions.

A group is a stack of generators; an element of its algebra is their weighted sum; `exp` takes it to the group.
Geometry never runs below float32: bf16 and fp16 are lifted, float64 stays.
"""

import torch
from torch import Tensor

# The paper's G1 ... G6 (Benton et al. 2020, appendix B), acting on homogeneous points (x, y, 1).
AFFINE2D: dict[str, tuple[tuple[int, int, int], ...]] = {
    "translate_x": ((0, 0, 1), (0, 0, 0), (0, 0, 0)),
    "translate_y": ((0, 0, 0), (0, 0, 1), (0, 0, 0)),
    "rotate": ((0, -1, 0), (1, 0, 0), (0, 0, 0)),
    "scale": ((1, 0, 0), (0, 1, 0), (0, 0, 0)),
    "squeeze": ((1, 0, 0), (0, -1, 0), (0, 0, 0)),
    "shear": ((0, 1, 0), (1, 0, 0), (0, 0, 0)),
}

# The same in 3-D, acting on (x, y, z, 1): the paper's nine (its appendix on QM9), then the three shears, which it leaves out.
AFFINE3D: dict[str, tuple[tuple[int, int, int, int], ...]] = {
    "translate_x": ((0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "translate_y": ((0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0), (0, 0, 0, 0)),
    "translate_z": ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 1), (0, 0, 0, 0)),
    "rotate_x": ((0, 0, 0, 0), (0, 0, -1, 0), (0, 1, 0, 0), (0, 0, 0, 0)),
    "rotate_y": ((0, 0, 1, 0), (0, 0, 0, 0), (-1, 0, 0, 0), (0, 0, 0, 0)),
    "rotate_z": ((0, -1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "scale": ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 0)),
    "squeeze_xy": ((1, 0, 0, 0), (0, -1, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "squeeze_yz": ((0, 0, 0, 0), (0, 1, 0, 0), (0, 0, -1, 0), (0, 0, 0, 0)),
    "shear_xy": ((0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)),
    "shear_yz": ((0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 0, 0)),
    "shear_xz": ((0, 0, 1, 0), (0, 0, 0, 0), (1, 0, 0, 0), (0, 0, 0, 0)),
}

# Past e^(2 * 20) a magnification means nothing and float32 nears its end: the exponentials saturate there.
SATURATION = 20.0

SQUARINGS = 12  # so that rotations by up to 2^12 / sqrt 2, about 2900 radians, are exact


def at_least_float32(x: Tensor) -> Tensor:
    """Lifts half precisions to float32 and leaves float32 and float64 alone."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


def combine(t: Tensor, generators: Tensor) -> Tensor:
    """Sums generators by their coordinates.   t: (B, k)   generators: (k, m, m)   returns (B, m, m)"""
    k, m, _ = generators.shape
    return (t @ generators.to(t).reshape(k, m * m)).reshape(*t.shape[:-1], m, m)


def exp(algebra: Tensor) -> Tensor:
    """Exponential of any square matrix, the general path.   algebra: (..., m, m)"""
    return torch.linalg.matrix_exp(at_least_float32(algebra))


def exp_affine2d(algebra: Tensor) -> Tensor:
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
    a00, a01, a10, a11 = algebra[..., 0, 0], algebra[..., 0, 1], algebra[..., 1, 0], algebra[..., 1, 1]
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
    rows = ((d / det, -b / det, (b * y - d * x) / det), (-c / det, a / det, (c * x - a * y) / det), last)
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
    real = torch.where(stretch, root, 1.0)  # each branch sees only arguments it can take: no Inf to multiply by zero
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
    e2, cosh2, sinhc2 = torch.where(turn, e, 1.0), torch.where(turn, cosh, 1.0), torch.where(turn, sinhc, 1.0)
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


def exp_affine3d(algebra: Tensor) -> Tensor:
    r"""Exponential of 3-D affine algebra elements.   algebra: (..., 4, 4)   returns (..., 4, 4)

    By its series, once halved often enough, and squared up again: \(e^A = (e^{A / 2^k})^{2^k}\). The linear part is
    \(M = sI + S + W\), trace, symmetric and antisymmetric: s is held within ±20 and S within a norm of 20, so that nothing
    overflows; W turns, and does not stretch. Each element is squared as often as *it* needs and no more, since every
    squaring doubles the rounding error.
    """
    algebra = at_least_float32(algebra)
    linear, shift = algebra[..., :3, :3], algebra[..., :3, 3:]
    eye = torch.eye(3, dtype=algebra.dtype, device=algebra.device)
    trace = linear.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None] / 3
    stretch = (linear + linear.mT) / 2 - trace * eye
    turn = (linear - linear.mT) / 2
    linear = trace.clamp(-SATURATION, SATURATION) * eye + _held(stretch, SATURATION) + _held(turn, 2.0**SQUARINGS)
    halvings = linear.detach().square().sum((-2, -1), keepdim=True).sqrt().clamp_min(1).log2().ceil().clamp_max(SQUARINGS)
    small = torch.cat([torch.cat([linear, shift], dim=-1), torch.zeros_like(algebra[..., :1, :])], dim=-2) / 2**halvings
    return _square_up(_series(small), halvings)


def _held(matrix: Tensor, norm: float) -> Tensor:
    """A matrix shrunk to a norm where it has a larger one."""
    square = matrix.square().sum((-2, -1), keepdim=True)
    over = square > norm**2
    return matrix * torch.where(over, norm / torch.where(over, square, 1.0).sqrt(), 1.0)


def _series(small: Tensor) -> Tensor:
    """The exponential series by Horner's scheme, to the last bit of float64 for matrices of norm up to 1."""
    eye = torch.eye(small.shape[-1], dtype=small.dtype, device=small.device)
    total = eye + small / 18
    for n in range(17, 0, -1):
        total = eye + small @ total / n
    return total


def _square_up(root: Tensor, times: Tensor) -> Tensor:
    """Squares each matrix its own number of times."""
    eye = torch.eye(root.shape[-1], dtype=root.dtype, device=root.device)
    for i in range(SQUARINGS):
        waiting = times > i
        base = torch.where(waiting, root, eye)  # one that is done must not grow further, seen or unseen
        root = torch.where(waiting, base @ base, root)
    return root
