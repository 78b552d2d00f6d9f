"""What the terminal shows: a live line while training, a table at the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from augerino.diagnostics import Verdict
from augerino.training import Epoch
from augerino.transforms import Transform

console = Console(highlight=False)


class _Bounds(ProgressColumn):
    def render(self, task: Task) -> Text:
        return Text(task.fields["bounds"], style="cyan", overflow="ellipsis", no_wrap=True)


class TrainingDisplay:
    """Shows records as they come: live on a terminal, a line now and then elsewhere."""

    def __init__(self, progress: Progress, epochs: int, transform: Transform) -> None:
        self._progress, self._epochs, self._transform = progress, epochs, transform
        self._task = progress.add_task("training", total=epochs, loss="", bounds="")

    def __call__(self, record: Epoch) -> None:
        text = "  ".join(f"{name} {self._transform.describe(name, bound)}" for name, bound in record.spread.items())
        self._progress.update(self._task, completed=record.epoch, loss=f"loss {record.loss:.4f}", bounds=text)
        if not console.is_terminal and (record.epoch % max(self._epochs // 10, 1) == 0 or record.epoch == self._epochs):
            console.print(f"epoch {record.epoch}/{self._epochs}  loss {record.loss:.4f}  {text}", soft_wrap=True)


@contextmanager
def training_display(epochs: int, transform: Transform) -> Iterator[TrainingDisplay]:
    """The display of one training, for as long as it lasts."""
    columns: tuple[ProgressColumn, ...] = (
        TextColumn("epoch"),
        MofNCompleteColumn(),
        BarColumn(bar_width=24),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[loss]}"),
        _Bounds(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        yield TrainingDisplay(progress, epochs, transform)


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """The table of what was learned, then one sentence a coordinate."""
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 3, 0, 0))
    for heading in ("coordinate", "start", "learned"):
        table.add_column(heading, no_wrap=True)
    for verdict in verdicts:
        table.add_row(verdict.coordinate, verdict.start_text, f"[bold cyan]{verdict.learned_text}[/]")
    console.print()
    console.print(table)
    console.print()
    for verdict in verdicts:
        console.print(verdict.sentence, soft_wrap=True)
