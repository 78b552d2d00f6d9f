"""Shared by all tests: one thread a worker, a fixed seed before each test."""

import importlib
import importlib.util
import os
import sys
import types

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

from augerino.training import precision

torch.set_num_threads(1)
# Some virtual machines announce AMX without supporting it: restrict oneDNN, also in subprocesses.
if not precision.bf16_works():
    os.environ[precision.ISA_VARIABLE] = precision.ISA_WITHOUT_AMX
    precision.bf16_works.cache_clear()

if importlib.util.find_spec("torchvision"):
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        # The compiled part of the wheel does not fit this torch. Nothing here needs that part, but
        # every package that imports torchvision (timm, torchmetrics, transformers) would fail.
        sys.modules["torchvision._meta_registrations"] = types.ModuleType(
            "torchvision._meta_registrations"
        )


def need(*packages: str) -> None:
    """Skips a test if a package of an extra is not installed or does not load."""
    for package in packages:
        try:
            importlib.import_module(package)
        except (ImportError, RuntimeError) as error:
            pytest.skip(f"needs {package}: {str(error).splitlines()[0]}")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def smooth_images(
    batch: int = 3, channels: int = 2, height: int = 24, width: int = 24, dtype=torch.float64
) -> torch.Tensor:
    """Images of low frequencies that fade to zero at the border, different in every channel."""
    generator = torch.Generator().manual_seed(7)
    y = torch.linspace(-1, 1, height, dtype=dtype)[:, None]
    x = torch.linspace(-1, 1, width, dtype=dtype)[None, :]
    fade = torch.exp(-4 * (x**2 + y**2))
    phase = torch.rand(batch, channels, 4, 1, 1, generator=generator, dtype=dtype) * 6
    waves = (
        torch.sin(2 * x + phase[:, :, 0])
        + torch.cos(2 * y + phase[:, :, 1])
        + torch.sin(x + y + phase[:, :, 2])
    )
    return fade * (0.5 + waves / 6)


def smooth_signals(
    batch: int = 3, channels: int = 2, samples: int = 60, dtype=torch.float64
) -> torch.Tensor:
    """Signals of low frequencies that fade to zero at both ends, different in every channel."""
    return smooth_images(batch, channels, 1, samples, dtype)[:, :, 0] * torch.e**4
