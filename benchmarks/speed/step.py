"""Training steps with and without Augerino, and evaluation over n copies."""

from collections.abc import Callable

import torch
import torch.nn.functional as F

import augerino as ag
from augerino.training.loop import _without_gradient
from benchmarks.speed.nets import NETS
from benchmarks.speed.timing import compare, interleave, spread

PLAIN = "without"
LEARNED = "with Augerino"
RESTING = "with Augerino, theta resting"
COPIES = "with Augerino, train_copies=4"
EVALUATION = {
    1: "plain evaluation",
    4: "evaluation, 4 copies",
    16: "evaluation, 16 copies in chunks",
}


def steps(name: str) -> dict[str, Callable[[], None]]:
    """Training steps and evaluations of one network."""
    build, shape = NETS[name]
    torch.manual_seed(0)
    net = build().to(memory_format=torch.channels_last)  # as `precision="auto"` trains on a CPU
    augmentation = ag.Augmentation(ag.Affine2d(), ag.Uniform([0.3] * 6))
    model = ag.InvariantModel(net, augmentation, average=ag.mean_log_prob)
    objective = ag.Objective(F.nll_loss, augmentation)
    optimizer = torch.optim.Adam(ag.param_groups(model), lr=1e-4)
    x = torch.rand(shape)
    y = torch.randint(10, shape[:1])

    def plain() -> None:
        model.train()
        optimizer.zero_grad()
        F.nll_loss(net(x).log_softmax(1), y).backward()
        optimizer.step()

    def learned(copies: int = 1, resting: bool = False) -> None:
        model.train().train_copies = copies
        optimizer.zero_grad()
        with _without_gradient(list(augmentation.parameters()) if resting else []):
            terms = objective(model(x), y)
        terms.total.backward()
        optimizer.step()

    def evaluate(copies: int) -> None:
        model.eval()
        with torch.no_grad():
            if copies == 1:
                net(x).log_softmax(1)
                return
            model.test_copies = copies
            model.chunk = len(x) if copies > 4 else None
            model(x)

    training = {
        PLAIN: plain,
        LEARNED: learned,
        RESTING: lambda: learned(resting=True),
        COPIES: lambda: learned(4),
    }
    return {
        **training,
        **{title: (lambda copies=copies: evaluate(copies)) for copies, title in EVALUATION.items()},
    }


def measure(seconds: float, threads: tuple[int, ...] = (1, 2)) -> list[dict]:
    """One row for each network and number of threads.

    Each group of compared steps is timed separately, so that fast steps get enough rounds.
    """
    rows = []
    for count in threads:
        torch.set_num_threads(count)
        for name, (_, shape) in NETS.items():
            ways = steps(name)
            taken = _timed(ways, (PLAIN, LEARNED, RESTING), seconds)
            found = compare(taken, to=PLAIN)
            mixed = [
                (learned + 3 * resting) / 4
                for learned, resting in zip(taken[LEARNED], taken[RESTING], strict=True)
            ]
            ratios = _over(mixed, taken[PLAIN])
            found["with Augerino, theta_every=4"] = {"ratio": vars(spread(ratios))}
            taken = _timed(ways, (LEARNED, COPIES), seconds / 2)
            found[COPIES] = {"over one copy": vars(spread(_over(taken[COPIES], taken[LEARNED])))}
            taken = _timed(ways, tuple(EVALUATION.values()), seconds / 2)
            for copies, title in EVALUATION.items():
                each = [value / copies for value in _over(taken[title], taken[EVALUATION[1]])]
                found[title] = {"over a plain evaluation, per copy": vars(spread(each))}
            rows.append(
                {"net": name, "batch": "×".join(map(str, shape)), "threads": count, "ways": found}
            )
            shown = ", ".join(
                f"{way} {_median(value):.3f}×" for way, value in found.items() if way != PLAIN
            )
            print(f"  {name}, {count} thread(s): {shown}", flush=True)
    return rows


def _timed(
    ways: dict[str, Callable[[], None]], names: tuple[str, ...], seconds: float
) -> dict[str, list[float]]:
    return interleave({name: ways[name] for name in names}, seconds, most=400)


def _over(values: list[float], others: list[float]) -> list[float]:
    return [value / other for value, other in zip(values, others, strict=True)]


def _median(way: dict[str, dict]) -> float:
    return (way.get("ratio") or next(iter(way.values())))["median"]
