"""Interleaved timing of alternatives, so that other load on the machine affects all of them."""

import os
import platform
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from augerino.training.precision import ISA_VARIABLE


@dataclass(frozen=True)
class Spread:
    """A median and its quartiles."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"


def spread(values: list[float]) -> Spread:
    """Median and quartiles of at least three values."""
    low, median, high = statistics.quantiles(values, n=4, method="inclusive")
    return Spread(round(median, 6), round(low, 6), round(high, 6))


def interleave(
    ways: dict[str, Callable[[], object]], seconds: float, fewest: int = 5, most: int = 60
) -> dict[str, list[float]]:
    """Times each function once per round, every round in a rotated order.

    Uses CPU time on one thread, which other load disturbs less, and wall time on several.

    Args:
        ways: the functions by name; each is called once before.
        seconds: total time.
        fewest: minimum number of rounds.
        most: maximum number of rounds.

    Returns:
        The seconds of each round by name.
    """
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    for way in ways.values():
        way()
    taken: dict[str, list[float]] = {name: [] for name in ways}
    names = list(ways)
    began = time.perf_counter()
    for turn in range(most):
        if turn >= fewest and time.perf_counter() - began > seconds:
            break
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            start = clock()
            ways[name]()
            taken[name].append(clock() - start)
    return taken


def compare(taken: dict[str, list[float]], to: str) -> dict[str, dict]:
    """Milliseconds of each function, and their ratio to those of `to`, round by round."""
    found = {}
    for name, values in taken.items():
        ratios = [value / other for value, other in zip(values, taken[to], strict=True)]
        found[name] = {
            "ms": vars(spread([1e3 * value for value in values])),
            "ratio": vars(spread(ratios)),
            "rounds": len(values),
        }
    return found


def machine() -> dict[str, object]:
    """A description of this machine, without its name."""
    import importlib.metadata

    versions = {"python": platform.python_version(), "torch": torch.__version__}
    for package in ("kornia", "torchvision", "torchdiffeq", "numpy"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    has_affinity = hasattr(os, "sched_getaffinity")
    environment = {name: os.environ[name] for name in (ISA_VARIABLE,) if name in os.environ}
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count(),
        "vector instructions": torch.backends.cpu.get_cpu_capability(),
        "bf16": bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)()),
        **({"environment": environment} if environment else {}),
        "load before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(
                line.split(":")[1].strip() for line in lines if line.startswith("model name")
            )
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
