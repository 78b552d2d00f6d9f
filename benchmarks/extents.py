"""Dependence of a learned extent on its start and on the other learned coordinates.

    python -m benchmarks.extents [--out DIR] [--seeds 2] [--steps 2000]

Trains two problems of the recovery benchmark, by probing and by the gradient of loss - λ Σθ²: one
from narrow to wide starts, one with more and more learned coordinates. Each finished training is
saved, so the command can be interrupted. Writes docs/results/extents.
"""

import argparse
import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import torch

from augerino import plots
from augerino.benchmark import Problem, embedded
from augerino.benchmark.contestants import by_recipe
from augerino.benchmark.experiment import Recovery
from augerino.transforms import Affine2d

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "results" / "extents"
START_PROBLEM = "soft-rotate-letters-noisy"
COORDINATES_PROBLEM = "soft-rotate-sprites-clean"
STARTS = (0.03, 0.1, 0.3, 1.0, 2.5)
COORDINATES = {
    "alone": ("rotate",),
    "+ scale": ("rotate", "scale"),
    "+ shifts": ("translate_x", "translate_y", "rotate", "scale"),
    "+ shear": ("translate_x", "translate_y", "rotate", "scale", "shear"),
    "+ squeeze": ("translate_x", "translate_y", "rotate", "scale", "squeeze", "shear"),
}
METHODS = {"probe": "by probing", "gradient": "by gradient, λ = 0.05"}


def find(name: str) -> Problem:
    """A problem of the benchmark."""
    return next(problem for problem in embedded() if problem.name == name)


def cases(seeds: int) -> dict[str, Callable[[Recovery], dict[str, float]]]:
    """Every training by name, as a function of the settings of the benchmark."""
    found: dict[str, Callable[[Recovery], dict[str, float]]] = {}

    def add(name: str, problem: Problem, start: float, method: str, seed: int) -> None:
        def run(settings: Recovery) -> dict[str, float]:
            recipe = settings.recipe(problem).but(method=method, start=start)
            return by_recipe(recipe).run(problem, seed)

        found[name] = run

    for seed in range(seeds):
        for method in METHODS:
            for start in STARTS:
                name = f"start {start:g}, {method}, seed {seed}"
                add(name, find(START_PROBLEM), start, method, seed)
            for title, names in COORDINATES.items():
                problem = dataclasses.replace(find(COORDINATES_PROBLEM), transform=Affine2d(*names))
                add(f"{title}, {method}, seed {seed}", problem, 0.3, method, seed)
    return found


def draw(folder: Path, learned: dict[str, dict[str, float]], seeds: int) -> None:
    """Draws rotation and scale against their start, and rotation against the other coordinates."""
    colors = dict(zip(METHODS, (plots.LEARNED, plots.CLASSES[3]), strict=True))
    with plots.style():
        fig, axes = plots.figure(1, 3, 11.0, 3.6)
        for method, label in METHODS.items():
            for ax, coordinate in zip(axes[:2], ("rotate", "scale"), strict=True):
                for seed in range(seeds):
                    values = [
                        learned[f"start {start:g}, {method}, seed {seed}"][coordinate]
                        for start in STARTS
                    ]
                    ax.plot(
                        STARTS,
                        values,
                        "o-",
                        ms=4,
                        lw=1.2,
                        color=colors[method],
                        label=label if seed == 0 else None,
                    )
            for seed in range(seeds):
                values = [
                    learned[f"{title}, {method}, seed {seed}"]["rotate"] for title in COORDINATES
                ]
                axes[2].plot(
                    range(len(COORDINATES)), values, "o-", ms=4, lw=1.2, color=colors[method]
                )
        axes[0].axhline(find(START_PROBLEM).true["rotate"], color=plots.TRUE, lw=2, label="true")
        axes[2].axhline(find(COORDINATES_PROBLEM).true["rotate"], color=plots.TRUE, lw=2)
        for ax, title in zip(
            axes,
            (
                "rotation by start",
                "scale (unlimited) by start",
                "rotation by learned coordinates",
            ),
            strict=True,
        ):
            ax.set_title(title)
            ax.set_ylabel("learned bound")
            ax.set_ylim(bottom=0)
        for ax in axes[:2]:
            ax.set_xscale("log")
            ax.set_xlabel("initial bound of all coordinates")
        axes[0].axhline(math.pi, color=plots.START, lw=1, ls=":")
        axes[2].set_xticks(range(len(COORDINATES)), list(COORDINATES), fontsize=8)
        axes[2].set_xlabel("learned coordinates: each and all to its left")
        fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        fig.savefig(folder / "extents.png")


def main() -> None:
    """Runs the trainings that are missing, then draws."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=FOLDER)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=Recovery.steps, help="of each training")
    options = parser.parse_args()
    if options.seeds < 1:
        parser.error("at least one seed is needed")
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / "extents.json"
    command = f"python -m benchmarks.extents --seeds {options.seeds} --steps {options.steps}"
    saved = {"command": command, "learned": {}}
    if file.exists():
        saved = json.loads(file.read_text())
    for name, run in cases(options.seeds).items():
        if name not in saved["learned"]:
            extents = run(Recovery(steps=options.steps))
            saved["learned"][name] = {key: round(value, 4) for key, value in extents.items()}
            file.write_text(json.dumps(saved, indent=1) + "\n")
            print(name, saved["learned"][name], flush=True)
    draw(options.out, saved["learned"], options.seeds)


if __name__ == "__main__":
    main()
