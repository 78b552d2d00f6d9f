"""What a terminal shows while training."""

import io
import math

import pytest
from rich.console import Console
from rich.progress_bar import ProgressBar

import augerino as ag
from augerino.app import console as screen
from augerino.app.wrapping import wrap
from augerino.training.state import Epoch


def record(epoch: int, bound: float) -> Epoch:
    return Epoch(epoch, 0.5, -0.1, 0.4, {"rotate": bound}, 0.01, 1.0)


@pytest.mark.parametrize("terminal", [True, False])
def test_the_display_follows_the_training(monkeypatch, terminal):
    out = io.StringIO()
    monkeypatch.setattr(screen, "console", Console(file=out, force_terminal=terminal, width=80))
    augmentation = ag.Augmentation(ag.Affine2d("rotate"), ag.Uniform([0.3]))
    with screen.training_display(20, 4, augmentation) as display:
        for epoch in range(1, 21):
            display.on_step(epoch, 2, 0.7)
            display.on_epoch(record(epoch, 0.04 * epoch))
    shown = out.getvalue()
    assert "±45.8°" in shown  # 0.8 rad, the last record
    if terminal:
        assert "20/20" in shown
    else:
        assert shown.count("\n") == 10 and "\x1b" not in shown


def test_a_wide_table_is_not_cut(monkeypatch):
    out = io.StringIO()
    monkeypatch.setattr(screen, "console", Console(file=out, width=60))
    learned = ag.Augmentation(ag.Affine2d(), ag.Uniform.named(ag.Affine2d().names, start=0.4))
    screen.print_verdicts(
        ag.diagnostics.verdicts(
            learned, ag.Augmentation(ag.Affine2d(), ag.Uniform([0.3] * 6)).extent
        )
    )
    assert "…" not in out.getvalue() and "shear: learned ×0.67 to ×1.49" in out.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_messages_wrap_at_the_width_of_a_terminal_only(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path = "runs/" + "x" * 60
    message = f"A message of more than forty columns, with a path: {path}"
    assert wrap(message, io.StringIO()) == message
    lines = wrap(message, Terminal()).splitlines()
    assert path in lines and all(len(line) <= 40 for line in lines if line != path)


def test_a_coordinate_without_a_limit_has_no_bar():
    assert str(screen._range_bar(0.3, math.inf)) == ""
    assert isinstance(screen._range_bar(0.3, 1.0), ProgressBar)
