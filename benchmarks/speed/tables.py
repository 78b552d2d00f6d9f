"""The saved measurements as Markdown tables and as a figure."""

import json
from pathlib import Path


def table(head: list[str], rows: list[list[object]]) -> list[str]:
    """A Markdown table as lines."""
    return [f"| {' | '.join(map(str, row))} |" for row in (head, ["---"] * len(head), *rows)]


def shown(spread: dict[str, float], digits: int = 2) -> str:
    """A median with its quartiles."""
    return f"{spread['median']:.{digits}f} ({spread['low']:.{digits}f}–{spread['high']:.{digits}f})"


def tables(folder: Path, pictures: str = "") -> str:
    """All tables whose measurements are in the folder; `pictures` is a prefix for image links."""
    makers = {
        "layer": _layer,
        "step": _step,
        "precision": _precision,
        "data": _data,
        "growth": _growth,
    }
    parts = []
    for name, maker in makers.items():
        if (folder / f"{name}.json").exists():
            saved = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
            parts.append("\n".join([*maker(saved["found"]), "", _machine(saved["machine"])]))
    return (
        "\n\n".join(parts)
        .replace("(growth.png)", f"({pictures}growth.png)")
        .replace("(layer.png)", f"({pictures}layer.png)")
    )


def _machine(machine: dict) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    bf16 = "with" if machine["bf16"] else "without"
    variables = machine.get("environment", {})
    environment = "".join(f", {name}={value}" for name, value in variables.items())
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['vector instructions']}, "
        f"{bf16} bf16{environment}; {versions}. Load at the start: {machine['load before']}."
    )


def _layer(rows: list[dict]) -> list[str]:
    peers = list(dict.fromkeys(name for row in rows for name in row["ways"] if name != "augerino"))
    lines = [
        "### The layer alone",
        "",
        "Time relative to ours, median and quartiles of paired rounds; above 1, ours is faster.",
        "",
    ]
    body = [
        [
            row["size"],
            row["threads"],
            row["direction"],
            f"{row['ways']['augerino']['ms']['median']:.1f} ms",
        ]
        + [shown(row["ways"][peer]["ratio"]) if peer in row["ways"] else "" for peer in peers]
        for row in rows
    ]
    worst = {name: f"{max(row['errors'][name] for row in rows):.1g}" for name in rows[0]["errors"]}
    error = " and ".join(
        f"{worst[f'output of {name}']} "
        f"(gradient of θ: relative error {worst[f'gradient of {name}']}) for {name}"
        for name in ("ours", "the direct implementation")
    )
    return [
        *lines,
        *table(["images", "threads", "", "augerino", *peers], body),
        "",
        f"Largest errors against float64, on images of noise: {error}.",
        "",
        "![Time of other layers relative to ours](layer.png)",
    ]


def _step(rows: list[dict]) -> list[str]:
    learned = "with Augerino"
    every = "with Augerino, theta_every=4"
    copies = "with Augerino, train_copies=4"
    evaluation = ("evaluation, 4 copies", "evaluation, 16 copies in chunks")
    body = [
        [
            row["net"],
            row["batch"],
            row["threads"],
            f"{row['ways']['without']['ms']['median']:.0f} ms",
        ]
        + [shown(row["ways"][way]["ratio"], 3) for way in (learned, every)]
        + [shown(row["ways"][copies]["over one copy"])]
        + [shown(row["ways"][way]["over a plain evaluation, per copy"], 3) for way in evaluation]
        for row in rows
    ]
    head = [
        "network",
        "batch",
        "threads",
        "step without",
        "with Augerino",
        "theta_every=4",
        "train_copies=4 over one copy",
    ]
    return [
        "### The whole training step",
        "",
        "Time of a step with Augerino relative to the same step without it; "
        "time of an evaluation per copy, relative to a plain one.",
        "",
        *table([*head, "4 copies, per copy", "16 copies, per copy"], body),
    ]


def _precision(found: dict) -> list[str]:
    ways = list(dict.fromkeys(way for row in found["rows"] for way in row["ways"]))
    body = [
        [row["net"]]
        + [shown(row["ways"][way]["ratio"]) if way in row["ways"] else "" for way in ways]
        + [row["compiling_seconds"]]
        for row in found["rows"]
    ]
    errors = found["gradient of theta in bf16"]
    return [
        "### Precision and compilation",
        "",
        "Time of a training step relative to float32; below 1 is faster. "
        f"`--precision auto` chooses {found['auto']} here.",
        "",
        *table(["network", *ways, "seconds to compile"], body),
        "",
        f"Error of the gradient of θ in bf16: {errors['in the mean']:.2%} in the mean over "
        f"batches, {errors['in a batch']:.1%} in one batch. "
        f"Its variation between batches is {errors['noise of a batch']:.0%}.",
    ]


def _data(found: dict) -> list[str]:
    body = [[name, shown(value, 0)] for name, value in found["images per second"].items()]
    title = (
        f"{found['images']} images of {found['side']}×{found['side']}, "
        "the default network of width 8, one thread."
    )
    return ["### Data", "", title, "", *table(["", "images per second"], body)]


def _growth(found: dict) -> list[str]:
    body = [
        [by, f"{powers['seconds']:.2f}", f"{powers['megabytes']:.2f}"]
        for by, powers in found["powers"].items()
    ]
    return [
        "### Growth",
        "",
        "Exponents of the growth of time and peak memory of the layer, forward and backward; "
        "1 is linear.",
        "",
        *table(["with", "time", "memory"], body),
        "",
        "![Growth of time and memory](growth.png)",
    ]


def draw_layer(path: Path, rows: list[dict]) -> None:
    """Draws the time of the other layers relative to ours, forward and backward, by size."""
    from augerino import plots

    threads = sorted({row["threads"] for row in rows})
    with plots.style():
        fig, axes = plots.figure(1, len(threads), 5 * len(threads), 3.2)
        for ax, count in zip(axes, threads, strict=True):
            chosen = [
                row for row in rows if row["threads"] == count and row["direction"] != "forward"
            ]
            peers = [name for name in chosen[0]["ways"] if name != "augerino"]
            for i, peer in enumerate(peers):
                ratios = [row["ways"][peer]["ratio"] for row in chosen]
                places = [
                    x + (i - len(peers) / 2 + 0.5) * 0.8 / len(peers) for x in range(len(chosen))
                ]
                values = [ratio["median"] for ratio in ratios]
                errors = [
                    [r["median"] - r["low"] for r in ratios],
                    [r["high"] - r["median"] for r in ratios],
                ]
                ax.bar(
                    places,
                    values,
                    0.8 / len(peers),
                    yerr=errors,
                    color=plots.CLASSES[i],
                    label=peer,
                    error_kw={"lw": 0.8},
                )
            ax.axhline(1, color="#64748b", lw=0.8)
            ax.set_yscale("log")
            ax.set_xticks(range(len(chosen)), [row["size"] for row in chosen])
            ax.set_ylabel("time relative to ours, forward + backward")
            ax.set_title(f"{count} thread{'s' * (count > 1)}")
        axes[0].legend(fontsize=6.5)
        fig.savefig(path)
