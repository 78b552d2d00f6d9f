"""The augmentation layer alone: ours, a direct implementation, and installed libraries."""

import sys
import types
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

import augerino as ag
from augerino import lie
from benchmarks.speed.timing import compare, interleave

SIZES = ((128, 1, 28, 28), (128, 3, 32, 32), (64, 3, 96, 96), (32, 3, 224, 224))
GENERATORS = torch.tensor(list(lie.AFFINE2D.values()), dtype=torch.float32)
BOUND = 0.3
REFERENCE = "matrix_exp + affine_grid + grid_sample"

# Maps images (B, C, H, W), noise in [-1, 1] (B, 6) and a bound (6,) to moved images.
Layer = Callable[[Tensor, Tensor, Tensor], Tensor]


def ours(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
    return _AFFINE(x, noise * bound)


_AFFINE = ag.Affine2d()


def direct(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
    return _sample(x, torch.linalg.matrix_exp(lie.combine(-noise * bound, GENERATORS)))


def _sample(x: Tensor, matrix: Tensor) -> Tensor:
    grid = F.affine_grid(matrix[:, :2], list(x.shape), align_corners=False)
    return F.grid_sample(x, grid, align_corners=False)


def with_ode() -> Layer:
    """The exponential by an adaptive ODE solver, as in the released code.

    Solves dX/ds = A X from the identity, with tolerance 1e-4.
    """
    from torchdiffeq import odeint

    def layer(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
        algebra = lie.combine(-noise * bound, GENERATORS)
        start = torch.eye(3).expand_as(algebra)
        times = torch.tensor([0.0, 1.0])
        solution = odeint(lambda _, state: algebra @ state, start, times, rtol=1e-4)
        return _sample(x, solution[1])

    return layer


def with_kornia_warp() -> Layer:
    """The same maps through kornia's `warp_affine`, which takes matrices in pixels."""
    from kornia.geometry.transform import warp_affine

    def layer(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
        matrix = torch.linalg.matrix_exp(lie.combine(noise * bound, GENERATORS))[:, :2]
        height, width = x.shape[-2:]
        centre = x.new_tensor([(width - 1) / 2, (height - 1) / 2])
        shift = matrix[:, :, 2] * (width / 2) + centre - matrix[:, :, :2] @ centre
        in_pixels = torch.cat([matrix[:, :, :2], shift[:, :, None]], dim=2)
        return warp_affine(x, in_pixels, (height, width))

    return layer


def with_kornia_random() -> Layer:
    """kornia's own random affine maps, with the gradient of the bound of its rotations."""
    from kornia.augmentation import RandomAffine

    def layer(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
        degrees = torch.stack([-bound[2], bound[2]]) * 57.3
        options = {"translate": (0.15, 0.15), "scale": (0.74, 1.35), "shear": (-17.0, 17.0)}
        return RandomAffine(degrees, **options, p=1.0)(x)

    return layer


def with_torchvision() -> Layer:
    """torchvision's random affine maps, without a gradient.

    They apply the same map to a whole batch, so they are called once per image.
    """
    from torchvision.transforms import v2

    move = v2.RandomAffine(
        17.0, (0.15, 0.15), (0.74, 1.35), (-17.0, 17.0), v2.InterpolationMode.BILINEAR
    )

    def layer(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
        return torch.stack([move(image) for image in x])

    return layer


def sampler_alone() -> Layer:
    """torch's sampler at given points, with their gradient: a lower bound for all layers here."""
    points: list[Tensor] = []

    def layer(x: Tensor, noise: Tensor, bound: Tensor) -> Tensor:
        if not points:
            matrix = torch.linalg.matrix_exp(lie.combine(-noise * bound, GENERATORS)).detach()
            points.append(
                F.affine_grid(matrix[:, :2], list(x.shape), align_corners=False).requires_grad_()
            )
        points[0].grad = None
        return F.grid_sample(x, points[0], align_corners=False)

    return layer


FORWARD_ONLY = "torchvision RandomAffine, one image per call"
PEERS = {
    "kornia warp_affine": with_kornia_warp,
    "kornia RandomAffine": with_kornia_random,
    FORWARD_ONLY: with_torchvision,
    "ODE solver + affine_grid + grid_sample": with_ode,
    "grid_sample alone, at given points": sampler_alone,
}


def layers() -> dict[str, Layer]:
    """Ours, the direct implementation, and every peer that can be imported."""
    # The compiled part of torchvision may not fit a CPU build of torch; transforms do not need it.
    sys.modules.setdefault(
        "torchvision._meta_registrations", types.ModuleType("torchvision._meta_registrations")
    )
    found: dict[str, Layer] = {"augerino": ours, REFERENCE: direct}
    for name, build in PEERS.items():
        try:
            found[name] = build()
        except (ImportError, RuntimeError) as error:
            print(f"  without {name}: {str(error).splitlines()[0]}")
    return found


def errors(x: Tensor) -> dict[str, float]:
    """Errors of ours and of the direct implementation, against the latter in float64.

    Absolute errors of the output, relative errors of the gradient of theta.
    """
    noise = torch.rand(len(x), 6) * 2 - 1
    found = []
    for layer, dtype in ((ours, torch.float32), (direct, torch.float32), (direct, torch.float64)):
        bound = torch.full((6,), BOUND, dtype=dtype, requires_grad=True)
        y = layer(x.to(dtype), noise.to(dtype), bound)
        found.append((y.detach(), torch.autograd.grad(y, bound, x.flip(0).to(dtype))[0]))
    (*both, (truth, slope)) = found
    return {
        f"{what} of {name}": float((value - true).abs().max() / size)
        for name, values in zip(("ours", "the direct implementation"), both, strict=True)
        for what, value, true, size in (
            ("output", values[0], truth, 1.0),
            ("gradient", values[1], slope, slope.abs().max()),
        )
    }


def measure(seconds: float, threads: tuple[int, ...] = (1, 2)) -> list[dict]:
    """One row for each size, number of threads and direction."""
    rows = []
    for count in threads:
        torch.set_num_threads(count)
        for size in SIZES:
            x = torch.rand(size)
            noise = torch.rand(size[0], 6) * 2 - 1
            bound = torch.full((6,), BOUND, requires_grad=True)
            along = torch.rand(size)
            ready = layers()

            def forward(layer: Layer, x=x, noise=noise, bound=bound) -> None:
                with torch.no_grad():
                    layer(x, noise, bound)

            def both(layer: Layer, x=x, noise=noise, bound=bound, along=along) -> None:
                layer(x, noise, bound).backward(along)
                bound.grad = None

            for direction, run in (("forward", forward), ("forward + backward", both)):
                chosen = {
                    name: layer
                    for name, layer in ready.items()
                    if run is forward or name != FORWARD_ONLY
                }
                ways = {
                    name: (lambda run=run, layer=layer: run(layer))
                    for name, layer in chosen.items()
                }
                found = compare(interleave(ways, seconds), to="augerino")
                row = {
                    "threads": count,
                    "size": "×".join(map(str, size)),
                    "direction": direction,
                    "ways": found,
                }
                rows.append({**row, "errors": errors(x)})
                print(
                    f"  {row['size']}, {count} thread(s), {direction}: {_shown(found)}", flush=True
                )
    return rows


def _shown(found: dict[str, dict]) -> str:
    return ", ".join(
        f"{name} {way['ratio']['median']:.2f}×" for name, way in found.items() if name != "augerino"
    )
