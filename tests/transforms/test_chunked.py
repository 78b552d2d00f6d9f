"""The custom CPU warp agrees with `grid_sample` and computes only the gradients it needs."""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

import augerino as ag
from augerino import lie
from augerino.transforms import chunked, functional
from tests.conftest import smooth_images


@pytest.fixture(params=["whole", "pieces"])
def size(request, monkeypatch):
    """Samples the small images of these tests at once, or in pieces as if they were large."""
    if request.param == "pieces":
        monkeypatch.setattr(chunked, "copying_pays", lambda: True)
        monkeypatch.setattr(chunked, "SMALL", 0)
        monkeypatch.setattr(chunked, "PIECE", 3000)
    return request.param


def matrices(count: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return ag.Affine2d().matrix(torch.rand(count, 6, dtype=dtype) - 0.5).detach()


def both_ways(monkeypatch, x, pull, **options):
    """Output, gradient of the images and of the matrices, from the plain and the custom warp."""
    found = []
    for way in (lambda *_: False, functional.eager):
        with monkeypatch.context() as patch:
            patch.setattr(functional, "eager", way)
            images, moving = x.clone().requires_grad_(), pull.clone().requires_grad_()
            out = functional.warp(images, moving, **options)
            probe = torch.linspace(-1, 1, out.numel()).view(out.shape).to(out.dtype)
            found.append((out, *torch.autograd.grad(out, (images, moving), probe)))
    return zip(*found, strict=True)


@pytest.mark.parametrize("sampling", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("window", [None, (20, 9)])
def test_it_agrees_with_the_plain_warp_in_every_mode(size, monkeypatch, sampling, padding, window):
    x = torch.rand(5, 2, 12, 16)
    for expected, ours in both_ways(
        monkeypatch, x, matrices(5), padding=padding, size=window, sampling=sampling
    ):
        assert ours.shape == expected.shape and ours.dtype == expected.dtype
        assert (ours - expected).abs().max() <= 1e-5 * expected.abs().max().clamp_min(1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_it_agrees_with_the_plain_warp_in_every_precision(size, monkeypatch, dtype):
    # Half-precision gradients are summed in another order.
    tolerance = 1e-10 if dtype == torch.float64 else 2e-2
    for expected, ours in both_ways(
        monkeypatch, torch.rand(5, 3, 12, 12).to(dtype), matrices(5, torch.float64)
    ):
        assert ours.dtype == expected.dtype
        assert (ours - expected).abs().max() <= tolerance * expected.abs().max().clamp_min(1)


@pytest.mark.parametrize("layout", ["channels_last", "expanded", "sliced"])
def test_it_agrees_with_the_plain_warp_for_any_layout(size, monkeypatch, layout):
    x = torch.rand(6, 3, 10, 10)
    x = {
        "channels_last": x.to(memory_format=torch.channels_last),
        "expanded": x[:1].expand(6, 3, 10, 10),
        "sliced": x[::2],
    }[layout]
    for expected, ours in both_ways(monkeypatch, x, matrices(len(x))):
        assert torch.allclose(ours, expected, atol=1e-4)


def reference(x: torch.Tensor, t: torch.Tensor, generators: torch.Tensor) -> torch.Tensor:
    """The reference warp by matrix_exp, affine_grid and grid_sample."""
    matrix = torch.linalg.matrix_exp(lie.combine(-t, generators))
    return F.grid_sample(
        x, F.affine_grid(matrix[:, :2], list(x.shape), align_corners=False), align_corners=False
    )


@pytest.mark.parametrize(
    "shape", [(3, 1, 28, 28), (3, 3, 32, 32), (2, 3, 96, 96), (2, 3, 224, 224)]
)
def test_it_agrees_with_the_reference_warp(size, shape):
    """On smooth images; noise would amplify the rounding errors of both exponentials."""
    x = smooth_images(shape[0], shape[1], *shape[2:])
    t = torch.rand(shape[0], 6) - 0.5
    probe = torch.rand(shape)
    found = []
    generators = torch.tensor(list(lie.AFFINE2D.values()))
    for layer, dtype in (
        (ag.Affine2d(), torch.float32),
        (partial(reference, generators=generators), torch.float64),
    ):
        moving = t.to(dtype).requires_grad_()
        y = layer(x.to(dtype), moving)
        found.append((y, torch.autograd.grad(y, moving, probe.to(dtype))[0]))
    (ours, slope), (expected, expected_slope) = found
    assert (ours - expected).abs().max() < 1e-5
    assert (slope - expected_slope).abs().max() < 1e-4 * expected_slope.abs().max()


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradients_agree_with_finite_differences(size, padding):
    x = torch.rand(3, 2, 5, 6, dtype=torch.float64, requires_grad=True)
    pull = matrices(3, torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda x, pull: functional.warp(x, pull, padding, size=(4, 7)), (x, pull)
    )


class Masks(TorchDispatchMode):
    """Records which gradients are requested from the sampler."""

    def __init__(self):
        super().__init__()
        self.seen = set()

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        if function is torch.ops.aten.grid_sampler_2d_backward.default:
            self.seen.add(tuple(arguments[-1]))
        return function(*arguments, **(options or {}))


@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("matrix", [False, True])
def test_only_the_gradients_that_are_needed_are_computed(size, images, matrix):
    x = torch.rand(4, 3, 9, 9, requires_grad=images)
    pull = matrices(4).requires_grad_(matrix)
    with Masks() as masks:
        y = functional.warp(x, pull)
        if images or matrix:
            y.sum().backward()
    assert y.requires_grad == (images or matrix)
    assert masks.seen == ({(images, matrix)} if images or matrix else set())
    assert (x.grad is not None) == images and (pull.grad is not None) == matrix


def test_a_backward_pass_under_autocast_stays_in_float32(size):
    x = torch.rand(4, 3, 9, 9)
    pull = matrices(4)
    gradients = []
    for enabled in (False, True):
        moving = pull.clone().requires_grad_()
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            functional.warp(x, moving).square().sum().backward()
        gradients.append(moving.grad)
    assert torch.equal(*gradients)


def test_second_derivatives_raise_an_error(size):
    pull = matrices(2).requires_grad_()
    (slope,) = torch.autograd.grad(
        functional.warp(torch.rand(2, 1, 6, 6), pull).square().sum(), pull, create_graph=True
    )
    with pytest.raises(RuntimeError, match=r"differentiated only once.*: detach the coordinates"):
        slope.sum().backward()


def test_second_derivatives_with_respect_to_weights_work(size):
    pull = matrices(2).requires_grad_()
    weight = torch.ones((), requires_grad=True)
    loss = (functional.warp(torch.rand(2, 1, 6, 6), pull) * weight).square().sum()
    along_weight, along_pull = torch.autograd.grad(loss, (weight, pull), create_graph=True)
    (curvature,) = torch.autograd.grad(along_weight, weight)
    assert curvature.item() == pytest.approx(2 * loss.item(), rel=1e-5)
    assert along_pull.requires_grad


class TestTransforms:
    """torch.func transforms and traces use the plain warp."""

    X, PULL = torch.rand(3, 2, 8, 8, dtype=torch.float64), matrices(3, torch.float64)

    def test_vmap(self):
        found = torch.func.vmap(lambda x, pull: functional.warp(x[None], pull[None])[0])(
            self.X, self.PULL
        )
        assert torch.allclose(found, functional.warp(self.X, self.PULL))

    def test_grad(self):
        pull = self.PULL.clone().requires_grad_()
        (expected,) = torch.autograd.grad(functional.warp(self.X, pull).square().sum(), pull)
        assert torch.allclose(
            torch.func.grad(lambda p: functional.warp(self.X, p).square().sum())(self.PULL),
            expected,
        )

    @pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
    def test_traced(self):
        traced = torch.jit.trace(functional.warp, (self.X, self.PULL))
        assert torch.allclose(traced(self.X, self.PULL), functional.warp(self.X, self.PULL))


@pytest.mark.parametrize(
    "shape", [(5, 3, 80, 80), (7, 1, 133, 201), (3, 8, 64, 64), (12, 3, 224, 224)]
)
def test_copying_images_first_changes_the_result_by_rounding_only(monkeypatch, shape):
    x = torch.rand(shape, dtype=torch.float64)
    t = torch.rand(shape[0], 6, dtype=torch.float64) - 0.5
    along = torch.rand(shape, dtype=torch.float64)
    found = []
    for pays in (True, False):
        monkeypatch.setattr(chunked, "copying_pays", lambda pays=pays: pays)
        moving = t.clone().requires_grad_()
        y = ag.Affine2d()(x, moving)
        found.append((y, torch.autograd.grad(y, moving, along)[0]))
    (copied, copied_slope), (whole, whole_slope) = found
    assert torch.allclose(copied, whole, atol=1e-10)
    assert torch.allclose(copied_slope, whole_slope)


@pytest.mark.parametrize("capability", ["DEFAULT", "AVX2", "AVX512"])
def test_the_processor_alone_decides_whether_large_images_are_copied(monkeypatch, capability):
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    calls = []
    by_pieces = chunked._Batch.by_pieces
    monkeypatch.setattr(
        chunked._Batch, "by_pieces", lambda self, modes: calls.append(1) or by_pieces(self, modes)
    )
    functional.warp(torch.rand(2, 3, 32, 32), matrices(2))
    assert not calls
    functional.warp(torch.rand(2, 3, 96, 96), matrices(2))
    assert bool(calls) == (capability != "AVX512")


def test_an_empty_batch(size):
    pull = torch.zeros(0, 3, 3, requires_grad=True)
    y = functional.warp(torch.zeros(0, 3, 8, 8), pull)
    y.sum().backward()
    assert y.shape == (0, 3, 8, 8) and pull.grad.shape == (0, 3, 3)


def test_cached_points_can_be_used_outside_inference_mode():
    functional._cached_points.cache_clear()
    x, pull = torch.rand(2, 1, 7, 7), matrices(2)
    with torch.inference_mode():
        expected = functional.warp(x, pull)
    moving = pull.clone().requires_grad_()
    y = functional.warp(x, moving)
    y.sum().backward()
    assert torch.equal(y, expected) and moving.grad.isfinite().all()
