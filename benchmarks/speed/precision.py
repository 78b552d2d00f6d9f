"""Training steps with bf16, channels_last and torch.compile, and the gradient of theta in bf16."""

import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

import augerino as ag
from augerino.data.synthetic.sprites import sprites
from augerino.nets.small import SmallCNN
from augerino.training.precision import (
    ISA_VARIABLE,
    ISA_WITHOUT_AMX,
    bf16_works,
    choose_precision,
)
from benchmarks.speed.nets import NETS
from benchmarks.speed.timing import compare, interleave

NAMES = ("13 layers, width 32", "4 convolutions, width 32")


def step(
    name: str, *, half: bool = False, channels_last: bool = False, compiled: bool = False
) -> Callable[[], None]:
    """A training step with Augerino, with the given options."""
    build, shape = NETS[name]
    torch.manual_seed(0)
    net: nn.Module = build()
    if channels_last:
        net = net.to(memory_format=torch.channels_last)
    if compiled:
        net = torch.compile(net, fullgraph=True)  # the warp is faster without
    augmentation = ag.Augmentation(ag.Affine2d(), ag.Uniform([0.3] * 6))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    objective = ag.Objective(F.nll_loss, augmentation)
    optimizer = torch.optim.Adam(ag.param_groups(model), lr=1e-4)
    x = torch.rand(shape)
    y = torch.randint(10, shape[:1])

    def run() -> None:
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            terms = objective(model(x), y)
        terms.total.backward()
        optimizer.step()

    return run


def gradient_errors(batches: int = 60) -> dict[str, float]:
    """Relative errors of the gradient of theta in bf16, where the bounds are too wide.

    In a single batch (median), and in the mean over batches.
    """
    torch.manual_seed(0)
    data = sprites(512)
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([1.5]))
    model = ag.InvariantModel(
        SmallCNN(data.x.shape[1], 4, 8), augmentation, average=ag.mean_log_prob
    )
    optimizer = torch.optim.Adam(model.net.parameters(), lr=0.01)
    rows = []
    for i in range(40 + batches):
        chosen = torch.randint(len(data.y), (64,))
        found = []
        for half in (False, True):
            torch.manual_seed(i)
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                loss = F.nll_loss(model(data.x[chosen]), data.y[chosen])
            optimizer.zero_grad()
            augmentation.zero_grad()
            loss.backward()
            found.append(augmentation.distribution.raw_bound.grad.clone())
            if i < 40 and not half:
                optimizer.step()
        if i >= 40:
            rows.append(torch.stack(found))
    full, halves = torch.stack(rows).unbind(1)
    each = ((full - halves).norm(dim=1) / full.norm(dim=1)).median()
    return {
        "in a batch": float(each),
        "in the mean": float((full.mean(0) - halves.mean(0)).norm() / full.mean(0).norm()),
        "noise of a batch": float((full.std(0) / full.mean(0).abs()).mean()),
    }


def measure(seconds: float) -> dict:
    """Ratios to float32 for two networks, and the errors of bf16."""
    torch.set_num_threads(1)
    if not bf16_works():
        sys.exit(
            "bf16 ends the process on this machine: set "
            f"{ISA_VARIABLE}={ISA_WITHOUT_AMX} in the environment and measure again."
        )
    rows = []
    for name in NAMES:
        ways = {
            "float32": step(name),
            "float32, channels_last": step(name, channels_last=True),
            "bf16, channels_last": step(name, half=True, channels_last=True),
        }
        began = time.perf_counter()
        try:
            compiled = step(name, compiled=True)
            compiled()
            ways["float32, compiled"] = compiled
        except Exception as error:  # a missing compiler raises any error
            print(f"  without torch.compile: {str(error).splitlines()[0]}")
        compiling = round(time.perf_counter() - began, 1)
        found = compare(interleave(ways, seconds), to="float32")
        rows.append({"net": name, "ways": found, "compiling_seconds": compiling})
        ratios = [f"{way} {value['ratio']['median']:.2f}×" for way, value in found.items()]
        print(f"  {name}: {', '.join(ratios)}", flush=True)
    errors = gradient_errors()
    print(
        f"  gradient of theta in bf16: {errors['in the mean']:.2%} off in the mean, "
        f"{errors['in a batch']:.2%} in a batch"
    )
    return {
        "rows": rows,
        "auto": choose_precision("auto", torch.device("cpu")),
        "gradient of theta in bf16": errors,
    }
