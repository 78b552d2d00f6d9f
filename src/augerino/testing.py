"""Checks of transforms, distributions and models against the laws that they must satisfy.

The tests of this package use them; use them for your own transforms and distributions, too.
"""

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

_STEP = 1e-6  # step of finite differences


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

    - Zero coordinates are the identity; with a larger canvas, up to cropping by the inverse.
    - Each output depends on its own input and coordinates only.
    - float32 and float64 agree.
    - Gradients along the coordinates agree with finite differences, unless `smooth` is False.
    - The inverse recovers x wherever coverage is full.

    Args:
        transform: the transform under test.
        x: at least two inputs, (B, ...); smooth ones if the transform interpolates.
        t: coordinates to test at, (B, k); by default drawn uniformly within half the limits.
        inverse_tolerance: largest error of the inverse, relative to the range of x; None to skip.
        gradient_tolerance: largest relative error of the derivative along each coordinate.
        seed: seed of the random numbers.

    Example:
        >>> from augerino import Brightness
        >>> check_transform(Brightness(), torch.rand(3, 1, 4, 4), inverse_tolerance=None)
    """
    generator = torch.Generator().manual_seed(seed)
    _check_coordinates(transform)
    assert len(x) >= 2, "the check needs at least two inputs"
    x = x.double()
    if t is None:
        t = _draw_coordinates(transform, len(x), generator)
    t = t.double()
    _check_identity(
        transform, x, zero=torch.zeros_like(t), has_inverse=inverse_tolerance is not None
    )
    y = _check_values(transform, x, t)
    _check_gradient(
        transform,
        x,
        t,
        probe=torch.randn(y.shape, generator=generator, dtype=torch.float64),
        tolerance=gradient_tolerance,
    )
    if inverse_tolerance is not None:
        _check_inverse(transform, x, t, y=y, tolerance=inverse_tolerance)


def _check_coordinates(transform: Transform) -> None:
    """Asserts that the coordinates are valid and have distinct names."""
    name = type(transform).__name__
    assert transform.coordinates, f"{name} needs at least one coordinate"
    for coordinate in transform.coordinates:
        assert isinstance(coordinate, Coordinate), (
            f"{name}.coordinates must be a tuple of Coordinate, but holds {coordinate!r}"
        )
        assert coordinate.limit > 0, f"{name} has a limit that is not above 0: {coordinate}"
    names = transform.names
    assert len(set(names)) == len(names), f"{name} has two coordinates with the same name: {names}"


def _draw_coordinates(transform: Transform, n: int, generator: torch.Generator) -> Tensor:
    """Coordinates drawn uniformly within half the limits, or within ±0.5 without one, (n, k)."""
    limits = [c.limit if math.isfinite(c.limit) else 1.0 for c in transform.coordinates]
    uniform = torch.rand(n, len(limits), generator=generator, dtype=torch.float64)
    return (uniform - 0.5) * torch.tensor(limits, dtype=torch.float64)


def _check_identity(transform: Transform, x: Tensor, *, zero: Tensor, has_inverse: bool) -> None:
    """Asserts that zero coordinates are the identity."""
    name = type(transform).__name__
    still = transform(x, zero)
    if still.shape != x.shape and has_inverse:  # a larger canvas, which the inverse crops
        still = transform.inverse(still, zero)
    _assert_close(still, x, tolerance=1e-9, law=f"{name} at zero coordinates is the identity")


def _check_values(transform: Transform, x: Tensor, t: Tensor) -> Tensor:
    """Asserts that outputs are finite, independent of the batch and equal in both precisions."""
    name = type(transform).__name__
    y = transform(x, t)
    assert y.isfinite().all(), f"{name} returned NaN or Inf"
    for i in range(len(x)):
        alone = transform(x[i : i + 1], t[i : i + 1])
        law = f"{name} gives the same output for an input alone and in a batch"
        _assert_close(y[i : i + 1], alone, tolerance=1e-9, law=law)
    single = transform(x.float(), t.float())
    assert single.dtype == torch.float32, f"{name} turned float32 into {single.dtype}"
    law = f"{name} agrees between float32 and float64"
    _assert_close(single.double(), y, tolerance=1e-3, law=law)
    return y


def _check_gradient(
    transform: Transform, x: Tensor, t: Tensor, *, probe: Tensor, tolerance: float
) -> None:
    """Asserts that the gradient of (y * probe).sum() along t agrees with central differences."""
    name = type(transform).__name__
    moving = t.clone().requires_grad_()
    (gradient,) = torch.autograd.grad((transform(x, moving) * probe).sum(), moving)
    assert gradient.isfinite().all(), f"{name} has a gradient that is NaN or Inf"
    if not transform.smooth:
        return
    for i, along in enumerate(transform.names):
        shift = torch.zeros_like(t)
        shift[:, i] = _STEP
        difference = (transform(x, t + shift) - transform(x, t - shift)) * probe
        numeric = difference.flatten(1).sum(1) / (2 * _STEP)
        scale = numeric.abs().max().clamp_min(1e-3)
        error = float((gradient[:, i] - numeric).abs().max() / scale)
        assert error <= tolerance, (
            f"{name}'s gradient along '{along}' has a relative error of {error:.2g}"
        )


def _check_inverse(
    transform: Transform, x: Tensor, t: Tensor, *, y: Tensor, tolerance: float
) -> None:
    """Asserts that the inverse of y recovers x wherever coverage is full."""
    name = type(transform).__name__
    back = transform.inverse(y, t)
    # Compare only values that were interpolated entirely from values in view.
    seen = _full(transform.coverage(y, t), back, slack=1e-9)
    assert seen.mean() > 0.01, (
        f"{name} leaves nothing in view at these coordinates: "
        "choose smaller ones to test its inverse"
    )
    span = (x.max() - x.min()).clamp_min(1e-12)
    error = float(((back - x) * seen).abs().max() / span)
    assert error <= tolerance, f"{name}'s inverse leaves an error of {error:.2g} of the range of x"


def check_distribution(
    distribution: LearnedDistribution, *, n: int = 20_000, seed: int = 0
) -> None:
    """Asserts the laws of a learned distribution, which stays unchanged.

    - A call returns a `torch.distributions` object.
    - Samples lie in the support, have its mean and standard deviation, and repeat with a seed.
    - The entropy agrees with a Monte Carlo estimate.
    - Gradients reach every parameter.
    - `settings()` rebuild the distribution, and its extent can be set.

    Args:
        distribution: the distribution under test.
        n: number of samples.
        seed: seed of the samples.

    Example:
        >>> from augerino import Uniform
        >>> check_distribution(Uniform([0.1, 2.0]))
    """
    name = type(distribution).__name__
    current = distribution()
    assert isinstance(current, D.Distribution), (
        f"{name}() must return a torch distribution, but returned {type(current)}"
    )
    assert current.event_shape == (distribution.size,), (
        f"{name}() has event shape {tuple(current.event_shape)}, "
        f"but {distribution.size} coordinates"
    )
    t = _check_samples(distribution, n, seed)
    _check_extent(distribution, current)
    _check_moments(distribution, current, t)
    parameters = dict(distribution.named_parameters())
    if parameters:
        _check_gradients(name, t, parameters)
    _check_settings(distribution)
    if parameters:
        _check_extent_setter(distribution)


def _check_samples(distribution: LearnedDistribution, n: int, seed: int) -> Tensor:
    """Asserts shape, dtype, seed and support of samples; returns them, (n, k)."""
    name = type(distribution).__name__
    device = distribution.extent.device
    t = distribution.rsample(n, torch.Generator(device).manual_seed(seed))
    again = distribution.rsample(n, torch.Generator(device).manual_seed(seed))
    assert t.shape == (n, distribution.size), f"{name}.rsample({n}) returned {tuple(t.shape)}"
    assert torch.equal(t, again), f"{name}.rsample does not repeat with the same seed"
    assert t.dtype == distribution.extent.dtype, f"{name}.rsample returned {t.dtype}"
    low, high = distribution.support
    above = t >= low - 1e-6 * low.abs()
    below = t <= high + 1e-6 * high.abs()
    assert (above & below).all(), f"{name} drew a sample outside its support"
    return t


def _check_extent(distribution: LearnedDistribution, current: D.Distribution) -> None:
    """Asserts shape, sign and size of the extent."""
    name = type(distribution).__name__
    k = distribution.size
    assert distribution.extent.shape == (k,), f"{name}.extent must have shape ({k},)"
    assert (distribution.extent >= 0).all(), f"{name}.extent is negative"
    # An extent is 1.7 standard deviations for a half-range (2.4 for a one-sided ball), 1 for a
    # standard deviation, and at most 2 for twice a probability.
    assert (distribution.extent <= 2.5 * current.variance.sqrt() + 1e-6).all(), (
        f"{name}.extent is wider than the samples"
    )


def _check_moments(distribution: LearnedDistribution, current: D.Distribution, t: Tensor) -> None:
    """Asserts mean, standard deviation and entropy of samples within six standard errors."""
    name = type(distribution).__name__
    noise = 6 / len(t) ** 0.5
    deviation = current.variance.sqrt()
    assert ((t.mean(0) - current.mean).abs() <= noise * deviation + 1e-9).all(), (
        f"the mean of {name}'s samples differs from {name}().mean"
    )
    assert ((t.std(0) - deviation).abs() <= noise * 2 * deviation + 1e-9).all(), (
        f"the standard deviation of {name}'s samples differs from {name}().stddev"
    )
    low, high = distribution.support
    surprise = -current.log_prob(t.detach().clamp(low, high)).detach()
    entropy = float(distribution.entropy().detach())
    allowed = noise * float(surprise.std()) + 1e-4 * max(1.0, abs(entropy))
    measured = float(surprise.mean())
    assert abs(measured - entropy) <= allowed, (
        f"{name}.entropy() is {entropy:.4g}, but the samples give {measured:.4g}"
    )


def _check_gradients(name: str, t: Tensor, parameters: dict[str, nn.Parameter]) -> None:
    """Asserts that samples have a finite gradient for every parameter."""
    assert t.requires_grad, f"{name}.rsample sends no gradient to its parameters"
    gradients = torch.autograd.grad(
        t.square().sum() + t.sum(), list(parameters.values()), allow_unused=True
    )
    for parameter, gradient in zip(parameters, gradients, strict=True):
        assert gradient is not None and gradient.isfinite().all(), (
            f"{name}.rsample sends no gradient to {parameter}"
        )


def _check_settings(distribution: LearnedDistribution) -> None:
    """Asserts that the settings rebuild the distribution."""
    name = type(distribution).__name__
    rebuilt = type(distribution)(**distribution.settings()).to(distribution.extent.device)
    extent = distribution.extent.double()
    gap = (rebuilt.extent.double() - extent).abs()
    assert (gap <= 1e-5 * extent).all(), f"{name}(**settings()) has another extent"


def _check_extent_setter(distribution: LearnedDistribution) -> None:
    """Asserts that an extent can be set and read back, on a copy."""
    name = type(distribution).__name__
    other = copy.deepcopy(distribution)
    half = distribution.extent.detach() / 2
    try:
        other.extent = half
    except AttributeError as error:
        raise AssertionError(f"{name}.extent needs a setter: {error}") from error
    assert torch.allclose(other.extent, half, rtol=1e-4), (
        f"{name}.extent differs from the value it was set to"
    )


def invariance_error(model: nn.Module, x: Tensor, transform: Transform, t: Tensor) -> float:
    r"""Relative invariance error, \(\|f(g x) - f(x)\| / \|f(x)\|\); 0 is invariant.

    Args:
        model: the network f.
        x: inputs, (B, ...).
        transform: the transform g.
        t: coordinates, (B, k).
    """
    with evaluation_mode(model):
        reference = model(x)
        moved = model(transform(x, t))
    return _relative(moved, reference, None)


def assert_invariant(
    model: nn.Module, x: Tensor, transform: Transform, t: Tensor, tolerance: float = 1e-4
) -> None:
    """Asserts that the `invariance_error` of a model is at most `tolerance`."""
    error = invariance_error(model, x=x, transform=transform, t=t)
    assert error <= tolerance, (
        f"not invariant to {type(transform).__name__}: error {error:.3g} above {tolerance:.3g}"
    )


def equivariance_error(
    model: nn.Module, x: Tensor, transform: Transform, t: Tensor, action: Transform | None = None
) -> float:
    r"""Relative equivariance error, \(\|g^{-1} f(g x) - f(x)\| / \|f(x)\|\); 0 is equivariant.

    Only values with full coverage are compared.

    Args:
        model: the network f.
        x: inputs, (B, ...).
        transform: the transform g.
        t: coordinates, (B, k).
        action: the action of g on outputs; `transform` by default.
    """
    action = transform if action is None else action
    with evaluation_mode(model):
        reference = model(x)
        moved = model(transform(x, t))
        return _relative(action.inverse(moved, t), reference, action.coverage(moved, t))


def assert_equivariant(
    model: nn.Module,
    x: Tensor,
    transform: Transform,
    t: Tensor,
    action: Transform | None = None,
    tolerance: float = 1e-4,
) -> None:
    """Asserts that the `equivariance_error` of a model is at most `tolerance`."""
    error = equivariance_error(model, x=x, transform=transform, t=t, action=action)
    assert error <= tolerance, (
        f"not equivariant to {type(transform).__name__}: error {error:.3g} above {tolerance:.3g}"
    )


def _full(coverage: Tensor | None, like: Tensor, slack: float) -> Tensor:
    """1 where coverage is above 1 - slack and 0 elsewhere, of the shape of `like`."""
    if coverage is None:
        return torch.ones_like(like)
    return (coverage > 1 - slack).to(like).expand_as(like)


def _relative(value: Tensor, reference: Tensor, coverage: Tensor | None) -> float:
    """Root mean square of value - reference over that of reference, where coverage is full."""
    seen = _full(coverage, reference, slack=1e-6)
    if not seen.any():
        raise InputError(
            "Nothing stays in view at these coordinates, so there is nothing to compare: "
            "choose smaller ones."
        )
    difference = ((value - reference).square() * seen).sum()
    size = (reference.square() * seen).sum().clamp_min(1e-30)
    return float((difference / size).sqrt())


def _assert_close(value: Tensor, expected: Tensor, *, tolerance: float, law: str) -> None:
    """Asserts equal shapes, and a largest difference within a tolerance."""
    assert value.shape == expected.shape, (
        f"violated: {law} (shape {tuple(value.shape)} instead of {tuple(expected.shape)})"
    )
    if not value.numel():
        return
    error = float((value - expected).abs().max())
    scale = max(1.0, float(expected.abs().max()))
    assert error <= tolerance * scale, f"violated: {law} (off by {error:.3g})"
