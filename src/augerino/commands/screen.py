"""What the terminal shows: a live line while training, a table at the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from augerino.augmentation import Augmentation
from augerino.diagnostics import Verdict
from augerino.training import Epoch

console = Console(highlight=False, markup=False)  # what a user named is printed as it is


class TrainingDisplay:
    """Shows a training as it goes: live on a terminal, a line now and then elsewhere."""

    def __init__(self, epochs: int, steps: int, augmentation: Augmentation) -> None:
        self._epochs, self._steps, self._transform = epochs, steps, augmentation.transform
        self._limits = dict(zip(augmentation.names, augmentation.limits.tolist(), strict=True))
        self._spread = augmentation.bounds()
        self._progress = Progress(
            TextColumn("epoch {task.fields[epoch]}/{task.total}"),
            BarColumn(bar_width=24),
            TimeRemainingColumn(),
            TextColumn("loss {task.fields[loss]}"),
            console=console,
        )
        self._task = self._progress.add_task("", total=epochs, epoch=0, loss="-")

    def __rich__(self) -> Group:
        table = Table.grid(padding=(0, 2))
        for name, bound in self._spread.items():
            bar = ProgressBar(total=self._limits[name], completed=min(bound, self._limits[name]), width=24)
            table.add_row(name, bar, Text(self._transform.unit(name).extent(bound), style="cyan"))
        return Group(self._progress, table)

    def on_step(self, epoch: int, step: int, loss: float) -> None:
        """Moves the bar within an epoch."""
        self._progress.update(self._task, completed=epoch - 1 + step / self._steps, loss=f"{loss:.4f}")

    def on_epoch(self, record: Epoch) -> None:
        """Shows where an epoch left the bounds."""
        self._spread = record.spread
        self._progress.update(self._task, completed=record.epoch, epoch=record.epoch, loss=f"{record.loss:.4f}")
        if not console.is_terminal and (record.epoch % max(self._epochs // 10, 1) == 0 or record.epoch == self._epochs):
            bounds = "  ".join(f"{name} {self._transform.unit(name).extent(bound)}" for name, bound in record.spread.items())
            console.print(f"epoch {record.epoch}/{self._epochs}  loss {record.loss:.4f}  {bounds}", soft_wrap=True)


@contextmanager
def training_display(epochs: int, steps: int, augmentation: Augmentation) -> Iterator[TrainingDisplay]:
    """The display of one training, for as long as it lasts."""
    display = TrainingDisplay(epochs, steps, augmentation)
    if not console.is_terminal:
        yield display
        return
    with Live(display, console=console, refresh_per_second=8):
        yield display


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """The table of what was learned, then one sentence a coordinate."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("coordinate", "start", "learned"):
        table.add_column(heading, no_wrap=True)
    for verdict in verdicts:
        table.add_row(verdict.coordinate, verdict.start_text, Text(verdict.learned_text, style="bold cyan"))
    console.print()
    console.print(table)
    console.print()
    for verdict in verdicts:
        console.print(verdict.sentence, soft_wrap=True)
