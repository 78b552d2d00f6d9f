"""Output on the terminal: progress during training, tables at the end."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from augerino.app.wrapping import wrap
from augerino.augmentation import Augmentation
from augerino.data import Dataset
from augerino.diagnostics import Estimate, Score, Verdict
from augerino.learning.learned import Learned
from augerino.learning.payoff import Payoff
from augerino.learning.recipe import Recipe
from augerino.runtime.printable import printable
from augerino.training.state import Epoch

console = Console(highlight=False, markup=False)  # names of users are printed verbatim


def say(message: str) -> None:
    """Prints a message, wrapped at the width of the terminal; one line elsewhere."""
    console.print(wrap(message, console.file), soft_wrap=True)


def say_unwrapped(message: str) -> None:
    """Prints a message that contains a command or a path to copy."""
    console.print(printable(message), soft_wrap=True)


class TrainingDisplay:
    """Progress of a training: a live display on a terminal, about ten lines elsewhere."""

    def __init__(
        self, epochs: int, steps: int, augmentation: Augmentation, title: str = ""
    ) -> None:
        self._title = f"{title}: " if title else ""
        self._epochs = epochs
        self._steps = steps
        self._coordinates = augmentation.transform.coordinates
        self._extent = augmentation.extent
        self._progress = Progress(
            TextColumn(self._title + "epoch {task.fields[epoch]}/{task.total}", markup=False),
            BarColumn(bar_width=24),
            TimeRemainingColumn(),
            TextColumn("loss {task.fields[loss]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=epochs, epoch=0, loss="-")

    def __rich__(self) -> Group:
        table = Table.grid(padding=(0, 2))
        for coordinate in self._coordinates:
            extent = self._extent[coordinate.name]
            text = Text(coordinate.unit.extent(extent), style="cyan")
            table.add_row(coordinate.name, _range_bar(extent, coordinate.limit), text)
        return Group(self._progress, table)

    def on_step(self, epoch: int, step: int, loss: float) -> None:
        """Updates the progress within an epoch."""
        self._progress.update(
            self._task, completed=epoch - 1 + step / self._steps, loss=f"{loss:.4f}"
        )

    def on_epoch(self, record: Epoch) -> None:
        """Shows the extents after an epoch."""
        self._extent = record.extent
        self._progress.update(
            self._task, completed=record.epoch, epoch=record.epoch, loss=f"{record.loss:.4f}"
        )
        is_due = record.epoch % max(self._epochs // 10, 1) == 0 or record.epoch == self._epochs
        if is_due and not console.is_terminal:
            console.print(self._line(record), soft_wrap=True)

    def _line(self, record: Epoch) -> str:
        progress = f"{self._title}epoch {record.epoch}/{self._epochs}  loss {record.loss:.4f}"
        extents = (
            f"{coordinate.name} {coordinate.unit.extent(record.extent[coordinate.name])}"
            for coordinate in self._coordinates
        )
        return "  ".join([progress, *extents])


def _range_bar(extent: float, limit: float) -> ProgressBar | Text:
    """The extent as a fraction of its limit; empty for a coordinate without a limit."""
    if not math.isfinite(limit):
        return Text("")
    return ProgressBar(total=limit, completed=min(extent, limit), width=24)


@contextmanager
def training_display(
    epochs: int, steps: int, augmentation: Augmentation, title: str = ""
) -> Iterator[TrainingDisplay]:
    """Displays the progress of one training while the context is open."""
    display = TrainingDisplay(epochs, steps, augmentation, title)
    if not console.is_terminal:
        yield display
        return
    with Live(display, console=console, refresh_per_second=8):
        yield display


@contextmanager
def reading(name: str) -> Iterator[Callable[[int, int], None]]:
    """Displays the progress of reading files; yields a function of (files read, all files)."""
    if not console.is_terminal:
        yield lambda done, total: None
        return
    with Progress(
        TextColumn("reading {task.description}", markup=False),
        BarColumn(bar_width=24),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def print_data(dataset: Dataset, recipe: Recipe, folder: Path) -> None:
    """Prints what the data are, the seed and the run folder."""
    classes = f", {len(dataset.class_names)} classes" if dataset.class_names else ""
    shape = "×".join(map(str, dataset.shape))
    say(f"Data: {dataset.kind} of shape {shape}, {dataset.task}{classes}")
    say(f"Samples: {dataset.n_train} for training, {dataset.n_test} held out")
    for note in dataset.notes:
        say(f"Note: {note}")
    say(f"Run folder: {folder} (seed {recipe.seed})")
    data = Path(dataset.path)
    if data.is_dir() and folder.resolve().is_relative_to(data.resolve()):
        say("Note: the run folder lies inside the data, and is not read as data.")


def print_payoff(payoff: Payoff | None, learned: Learned) -> None:
    """Prints whether to use the learned model, and its policy in words."""
    console.print()
    if payoff is not None:
        console.print(Text(wrap(payoff.sentence, console.file), style="bold"), soft_wrap=True)
    if learned.choice is None:
        return
    if learned.choice.augmentation.names:
        say(f"Policy: {learned.policy.sentence()}.")
    say(f"Predictions: {learned.choice.copies.text}.")


def print_scores(scores: Sequence[Score], task: str) -> None:
    """Prints a table of the models on held-out data."""
    metrics = {"classification": "accuracy", "segmentation": "pixel accuracy"}
    metric = metrics.get(task, "squared error")
    overlap = ("mean IoU", "95 % interval") if scores[0].mean_iou else ()
    gap = 2 if overlap else 3  # so that the table fits into 80 columns
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, gap, 0, 0))
    for heading in (f"{scores[0].n_items} held-out samples", metric, "95 % interval", *overlap):
        table.add_column(heading, no_wrap=True)
    for entry in scores:
        as_percent = entry.accuracy is not None
        cells = [*_cells(entry.accuracy or entry.loss, as_percent=as_percent)]
        if entry.mean_iou is not None:
            cells.extend(_cells(entry.mean_iou, as_percent=as_percent))
        table.add_row(entry.name, *cells)
    console.print()
    console.print(table)


def _cells(estimate: Estimate, *, as_percent: bool) -> tuple[str, str]:
    """A mean and its interval as text."""
    style = ".1%" if as_percent else ".4g"
    return f"{estimate.mean:{style}}", f"{estimate.low:{style}} to {estimate.high:{style}}"


def print_seeds(augmentation: Augmentation, bounds: Sequence[dict[str, float]]) -> None:
    """Prints the extent that each seed learned, one line per coordinate."""
    console.print()
    for coordinate in augmentation.transform.coordinates:
        name = coordinate.name
        extents = ", ".join(coordinate.unit.extent(found[name]) for found in bounds)
        say(f"{name} over {len(bounds)} seeds: {extents}")


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """Prints a table of the learned ranges, then one sentence per coordinate."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("coordinate", "start", "learned"):
        table.add_column(heading, no_wrap=True)
    for verdict in verdicts:
        table.add_row(
            verdict.coordinate, verdict.start_text, Text(verdict.learned_text, style="bold cyan")
        )
    console.print()
    console.print(table)
    console.print()
    for verdict in verdicts:
        say(verdict.sentence)
