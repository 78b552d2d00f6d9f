"""Laws that every transform, distribution and model should keep, as one-line checks: ours are tested by them, so can yours be."""

import copy
import math

import torch
import torch.distributions as D
from torch import Tensor, nn

from augerino.coordinate import Coordinate
from augerino.distributions import LearnedDistribution
from augerino.errors import InputError
from augerino.models import evaluation_mode
from augerino.transforms import Transform


def check_transform(
    transform: Transform,
    x: Tensor,
    *,
    t: Tensor | None = None,
    inverse_tolerance: float | None = 1e-6,
    gradient_tolerance: float = 1e-4,
    seed: int = 0,
) -> None:
    """Asserts the laws of a transform on a batch of inputs, in float64 and float32.

    The identity at 0 (or x on a larger canvas, from which the inverse takes it); each item moved by its own coordinates only;
    gradients that agree with finite differences; the two precisions agreeing; the inverse undoing what it can see. A transform
    that says `smooth = False` is spared the finite differences, and nothing else.

    Args:
        transform: under test.
        x: at least two inputs, (B, ...). Smooth ones, if the transform interpolates.
        t: where to test, (B, k); by default drawn within half the limits.
        inverse_tolerance: of the inverse, relative to the range of x and weighted by coverage; None if there is no inverse.
        gradient_tolerance: relative, of the derivative along each coordinate.
        seed: of what is drawn.

    Example:
        >>> from augerino import Brightness
        >>> check_transform(Brightness(), torch.rand(3, 1, 4, 4), inverse_tolerance=None)
    """
    generator = torch.Generator().manual_seed(seed)
    name = type(transform).__name__
    coordinates = transform.coordinates
    assert coordinates, f"{name} needs at least one coordinate"
    for coordinate in coordinates:
        assert isinstance(coordinate, Coordinate), (
            f"{name}.coordinates must be a tuple of Coordinate, but holds {coordinate!r}"
        )
        assert coordinate.limit > 0, f"{name} has a limit that is not above 0: {coordinate}"
    names = transform.names
    assert len(set(names)) == len(names), f"{name} has two coordinates of one name: {names}"
    x = x.double()
    assert len(x) >= 2, "the check needs at least two inputs"
    if t is None:
        limits = torch.tensor(
            [c.limit if math.isfinite(c.limit) else 1.0 for c in coordinates],
            dtype=torch.float64,
        )
        t = (
            torch.rand(len(x), len(names), generator=generator, dtype=torch.float64) - 0.5
        ) * limits
    t = t.double()

    zero = torch.zeros_like(t)
    still = transform(x, zero)
    if (
        still.shape != x.shape and inverse_tolerance is not None
    ):  # a larger canvas is the identity if it holds x
        still = transform.inverse(still, zero)
    _assert_close(still, x, 1e-9, f"{name} at zero coordinates is the identity")
    y = transform(x, t)
    assert y.isfinite().all(), f"{name} returned NaN or Inf"
    for i in range(len(x)):
        alone = transform(x[i : i + 1], t[i : i + 1])
        _assert_close(
            y[i : i + 1], alone, 1e-9, f"{name} moves an item the same way alone and in a batch"
        )
    single = transform(x.float(), t.float())
    assert single.dtype == torch.float32, f"{name} turned float32 into {single.dtype}"
    _assert_close(single.double(), y, 1e-3, f"{name} agrees between float32 and float64")

    probe = torch.randn(y.shape, generator=generator, dtype=torch.float64)
    moving = t.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((transform(x, moving) * probe).sum(), moving)
    assert gradient.isfinite().all(), f"{name} has a gradient that is NaN or Inf"
    step = 1e-6
    for i, along in enumerate(names if transform.smooth else ()):
        shift = torch.zeros_like(t)
        shift[:, i] = step
        difference = (transform(x, t + shift) - transform(x, t - shift)) * probe
        numeric = difference.flatten(1).sum(1) / (2 * step)
        scale = numeric.abs().max().clamp_min(1e-3)
        error = float((gradient[:, i] - numeric).abs().max() / scale)
        assert error <= gradient_tolerance, (
            f"{name}'s gradient along '{along}' is off by {error:.2g} of its size"
        )

    if inverse_tolerance is not None:
        back, weight = transform.inverse(y, t), transform.coverage(y, t)
        # A pixel is judged only if it and all that it was interpolated from stayed in view.
        seen = (
            torch.ones_like(back)
            if weight is None
            else (weight > 1 - 1e-9).to(back).expand_as(back)
        )
        assert seen.mean() > 0.01, (
            f"{name} leaves nothing in view at these coordinates: choose smaller ones to test its inverse"
        )
        error = float(((back - x) * seen).abs().max() / (x.max() - x.min()).clamp_min(1e-12))
        assert error <= inverse_tolerance, (
            f"{name}'s inverse leaves an error of {error:.2g} of the range of x"
        )


def check_distribution(
    distribution: LearnedDistribution, *, n: int = 20_000, seed: int = 0
) -> None:
    """Asserts the laws of a learned distribution; it is left as it was.

    A call returns a torch distribution; samples lie in the support and follow it; the entropy is that of the samples;
    gradients reach every parameter; a seed repeats; the settings rebuild it; its extent can be set.

    Example:
        >>> from augerino import Uniform
        >>> check_distribution(Uniform([0.1, 2.0]))
    """
    name, k = type(distribution).__name__, distribution.size
    current = distribution()
    assert isinstance(current, D.Distribution), (
        f"{name}() must return a torch distribution, but returned {type(current)}"
    )
    assert current.event_shape == (k,), (
        f"{name}() has event shape {tuple(current.event_shape)}, but {k} coordinates"
    )
    device = distribution.extent.device
    draw = [distribution.rsample(n, torch.Generator(device).manual_seed(seed)) for _ in range(2)]
    t = draw[0]
    assert t.shape == (n, k), f"{name}.rsample({n}) returned {tuple(t.shape)}"
    assert torch.equal(*draw), f"{name}.rsample does not repeat with the same seed"
    assert t.dtype == distribution.extent.dtype, f"{name}.rsample returned {t.dtype}"
    low, high = distribution.support
    assert ((t >= low - 1e-6 * low.abs()) & (t <= high + 1e-6 * high.abs())).all(), (
        f"{name} drew a sample outside its support"
    )
    assert distribution.extent.shape == (k,), f"{name}.extent must have shape ({k},)"
    assert (distribution.extent >= 0).all(), f"{name}.extent is negative"
    # A half-range is 1.7 standard deviations (2.4 for one side of a ball), a standard deviation 1, twice a probability at most 2.
    assert (distribution.extent <= 2.5 * current.variance.sqrt() + 1e-6).all(), (
        f"{name}.extent is wider than what it draws"
    )

    noise = 6 / n**0.5  # six standard errors
    deviation = current.variance.sqrt()
    assert ((t.mean(0) - current.mean).abs() <= noise * deviation + 1e-9).all(), (
        f"{name}'s samples have another mean"
    )
    assert ((t.std(0) - deviation).abs() <= noise * 2 * deviation + 1e-9).all(), (
        f"{name}'s samples spread otherwise"
    )
    inside = t.detach().clamp(low, high)
    surprise = -current.log_prob(inside).detach()
    entropy = float(distribution.entropy().detach())
    allowed = noise * float(surprise.std()) + 1e-4 * max(1.0, abs(entropy))
    measured = float(surprise.mean())
    assert abs(measured - entropy) <= allowed, (
        f"{name}.entropy() is {entropy:.4g}, but its samples say {measured:.4g}"
    )

    parameters = dict(distribution.named_parameters())
    if parameters:
        assert t.requires_grad, f"{name}.rsample sends no gradient to its parameters"
        gradients = torch.autograd.grad(
            t.square().sum() + t.sum(), list(parameters.values()), allow_unused=True
        )
        for parameter, gradient in zip(parameters, gradients, strict=True):
            assert gradient is not None and gradient.isfinite().all(), (
                f"{name}.rsample sends no gradient to {parameter}"
            )
    rebuilt = type(distribution)(**distribution.settings()).to(device)
    gap = (rebuilt.extent.double() - distribution.extent.double()).abs()
    assert (gap <= 1e-5 * distribution.extent.double()).all(), (
        f"{name}(**settings()) is another distribution"
    )
    if parameters:
        _check_extent_setter(distribution)


def _check_extent_setter(distribution: LearnedDistribution) -> None:
    """Asserts that setting an extent and reading it back agree, and that the range follows."""
    name = type(distribution).__name__
    other = copy.deepcopy(distribution)
    half = distribution.extent.detach() / 2
    try:
        other.extent = half
    except AttributeError as error:
        raise AssertionError(f"{name}.extent needs a setter: {error}") from error
    assert torch.allclose(other.extent, half, rtol=1e-4), f"{name}.extent is not what it was set to"


def invariance_error(model: nn.Module, x: Tensor, transform: Transform, t: Tensor) -> float:
    """How far f(g x) is from f(x): root mean square difference over the root mean square of f(x); 0 is invariant."""
    with evaluation_mode(model):
        reference, moved = model(x), model(transform(x, t))
    return _relative(moved, reference, None)


def assert_invariant(
    model: nn.Module, x: Tensor, transform: Transform, t: Tensor, tolerance: float = 1e-4
) -> None:
    """Asserts that a model's `invariance_error` is within a tolerance."""
    error = invariance_error(model, x, transform, t)
    assert error <= tolerance, (
        f"not invariant to {type(transform).__name__}: error {error:.3g} above {tolerance:.3g}"
    )


def equivariance_error(
    model: nn.Module, x: Tensor, transform: Transform, t: Tensor, action: Transform | None = None
) -> float:
    """How far g^-1 f(g x) is from f(x), where g kept things in view: relative root mean square; 0 is equivariant.

    `action` is how g acts on outputs; by default as on inputs.
    """
    action = transform if action is None else action
    with evaluation_mode(model):
        reference, moved = model(x), model(transform(x, t))
        return _relative(action.inverse(moved, t), reference, action.coverage(moved, t))


def assert_equivariant(
    model: nn.Module,
    x: Tensor,
    transform: Transform,
    t: Tensor,
    action: Transform | None = None,
    tolerance: float = 1e-4,
) -> None:
    """Asserts that a model's `equivariance_error` is within a tolerance."""
    error = equivariance_error(model, x, transform, t, action)
    assert error <= tolerance, (
        f"not equivariant to {type(transform).__name__}: error {error:.3g} above {tolerance:.3g}"
    )


def _relative(value: Tensor, reference: Tensor, weight: Tensor | None) -> float:
    seen = (
        torch.ones_like(reference)
        if weight is None
        else (weight > 1 - 1e-6).to(reference).expand_as(reference)
    )
    if not seen.any():
        raise InputError(
            "Nothing stays in view at these coordinates, so nothing can be compared: choose smaller ones."
        )
    difference = ((value - reference).square() * seen).sum()
    size = (reference.square() * seen).sum().clamp_min(1e-30)
    return float((difference / size).sqrt())


def _assert_close(value: Tensor, expected: Tensor, tolerance: float, law: str) -> None:
    assert value.shape == expected.shape, (
        f"not kept: {law} (shape {tuple(value.shape)} instead of {tuple(expected.shape)})"
    )
    error = float((value - expected).abs().max()) if value.numel() else 0.0
    scale = max(1.0, float(expected.abs().max())) if expected.numel() else 1.0
    assert error <= tolerance * scale, f"not kept: {law} (off by {error:.3g})"
