"""What the terminal shows: a live line while training, a table at the end."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from augerino.app.given import Given
from augerino.augmentation import Augmentation
from augerino.diagnostics import Change, Score, Verdict
from augerino.learning.recipe import Recipe
from augerino.training.state import Epoch

console = Console(highlight=False, markup=False)  # what a user named is printed as it is


def say(sentence: str) -> None:
    """Prints one sentence, as long as it may be, on one line."""
    console.print(sentence, soft_wrap=True)


class TrainingDisplay:
    """Shows a training as it goes: live on a terminal, a line now and then elsewhere."""

    def __init__(
        self, epochs: int, steps: int, augmentation: Augmentation, title: str = ""
    ) -> None:
        self._title = f"{title}: " if title else ""
        self._epochs, self._steps = epochs, steps
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
            limit = coordinate.limit
            bar = ProgressBar(total=limit, completed=min(extent, limit), width=24)
            text = Text(coordinate.unit.extent(extent), style="cyan")
            table.add_row(coordinate.name, bar, text)
        return Group(self._progress, table)

    def on_step(self, epoch: int, step: int, loss: float) -> None:
        """Moves the bar within an epoch."""
        self._progress.update(
            self._task, completed=epoch - 1 + step / self._steps, loss=f"{loss:.4f}"
        )

    def on_epoch(self, record: Epoch) -> None:
        """Shows where an epoch left the bounds."""
        self._extent = record.extent
        self._progress.update(
            self._task, completed=record.epoch, epoch=record.epoch, loss=f"{record.loss:.4f}"
        )
        if not console.is_terminal and (
            record.epoch % max(self._epochs // 10, 1) == 0 or record.epoch == self._epochs
        ):
            bounds = "  ".join(
                f"{coordinate.name} {coordinate.unit.extent(record.extent[coordinate.name])}"
                for coordinate in self._coordinates
            )
            line = f"{self._title}epoch {record.epoch}/{self._epochs}  loss {record.loss:.4f}  {bounds}"
            console.print(line.rstrip(), soft_wrap=True)


@contextmanager
def training_display(
    epochs: int, steps: int, augmentation: Augmentation, title: str = ""
) -> Iterator[TrainingDisplay]:
    """The display of one training, for as long as it lasts."""
    display = TrainingDisplay(epochs, steps, augmentation, title)
    if not console.is_terminal:
        yield display
        return
    with Live(display, console=console, refresh_per_second=8):
        yield display


@contextmanager
def reading(name: str) -> Iterator[Callable[[int, int], None]]:
    """Shows how far the reading of files is; yields what to call with how many are done, of how many."""
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


def print_data(given: Given, recipe: Recipe, folder: Path) -> None:
    """What was found at the path, what is going to be done, and where it goes."""
    classes = f", {len(given.class_names)} classes" if given.class_names else ""
    shape = "×".join(map(str, given.shape))
    console.print(
        f"{given.kind} {shape}, {given.task}{classes}: {given.train_items} to learn from, {given.test_items} held out; "
        f"seed {recipe.seed}, into {folder}",
        soft_wrap=True,
    )
    for note in given.notes:
        console.print(f"  {note}", soft_wrap=True)


def print_scores(scores: Sequence[Score], task: str) -> None:
    """The models side by side on held-out data."""
    what = {"classification": "accuracy", "segmentation": "pixel accuracy"}.get(
        task, "squared error"
    )
    overlap = ("mean IoU", "95 % interval") if scores[0].mean_iou else ()
    table = Table(
        box=None, header_style="bold", pad_edge=False, padding=(0, 2 if overlap else 3, 0, 0)
    )  # 80 columns wide
    for heading in (f"held-out ({scores[0].items} items)", what, "95 % interval", *overlap):
        table.add_column(heading, no_wrap=True)
    for entry in scores:
        told = [
            text
            for shown in (entry.accuracy or entry.loss, entry.mean_iou)
            if shown
            for text in _told(shown, entry)
        ]
        table.add_row(entry.name, *told)
    console.print()
    console.print(table)


def _told(change: Change, entry: Score) -> tuple[str, str]:
    """A mean and its interval, shares as percentages."""
    mean, low, high = (
        f"{v:.1%}" if entry.accuracy else f"{v:.4g}" for v in (change.mean, change.low, change.high)
    )
    return mean, f"{low} to {high}"


def print_seeds(augmentation: Augmentation, bounds: Sequence[dict[str, float]]) -> None:
    """What each seed learned, coordinate by coordinate."""
    console.print()
    for coordinate in augmentation.transform.coordinates:
        name = coordinate.name
        texts = ", ".join(coordinate.unit.extent(found[name]) for found in bounds)
        console.print(
            f"{name} over {len(bounds)} seeds: {texts}",
            soft_wrap=True,
        )


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """The table of what was learned, then one sentence a coordinate."""
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
        console.print(verdict.sentence, soft_wrap=True)
