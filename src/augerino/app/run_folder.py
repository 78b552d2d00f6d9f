"""A run on disk: one folder, a few small files, never overwritten."""

import contextlib
import datetime
import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from augerino.app import run_lock
from augerino.errors import InputError
from augerino.runtime import files


@dataclass(frozen=True)
class RunFolder:
    """The files of a run: config, history, policy and result as JSON, the checkpoint, and figures."""

    path: Path

    @classmethod
    def create(cls, out: str | Path | None, name: str) -> "RunFolder":
        """A new folder: `out`, which must not hold anything yet, or a fresh one under runs/."""
        try:
            if out is None:
                return cls(_fresh(Path("runs"), name))
            path = Path(out)
            if path.exists() and (
                not path.is_dir() or any(_counts(entry) for entry in path.iterdir())
            ):
                raise InputError(
                    f"{path} exists already and nothing is overwritten: choose another --out, "
                    f"or go on with an interrupted run by --resume {path}."
                )
            path.mkdir(parents=True, exist_ok=True)
            return cls(path)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"Cannot make the run folder {out or 'runs'}: {reason}. Choose another --out."
            ) from error

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """An existing run."""
        folder = cls(Path(path))
        if not folder.config_file.is_file():
            raise InputError(f"{path} is not a run folder: it has no config.json.")
        return folder

    @contextmanager
    def writing(
        self, *, take_over: bool = False, say: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Makes this process the folder's only writer, and clears away what a killed one left half written.

        Several processes that train together have one writer, and only that one calls this. Readers need no leave.

        Args:
            take_over: from a process of another machine that is known to have ended, too.
            say: is told where the folder was left locked by a process that has ended.
        """
        with run_lock.hold(self.path, take_over=take_over, say=say):
            for path in self.path.rglob("*"):
                if path.is_symlink() and not path.resolve().is_relative_to(self.path.resolve()):
                    raise InputError(
                        f"{path} is a link that leads out of the run folder, where nothing is written: remove it."
                    )
            for path in self.path.rglob(".*.tmp"):
                if files.is_left_over(path):
                    with contextlib.suppress(OSError):
                        path.unlink()
            yield

    @property
    def config_file(self) -> Path:
        return self.path / "config.json"

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint.safetensors"

    @property
    def model(self) -> Path:
        """Where the trained model is kept, by `save_pretrained`."""
        return self.path / "model"

    @property
    def finished(self) -> bool:
        return (self.path / "result.json").exists()

    @property
    def figures(self) -> Path:
        (self.path / "figures").mkdir(exist_ok=True)
        return self.path / "figures"

    def write_config(self, config: dict[str, Any]) -> None:
        files.write_json(self.config_file, config)

    def read_config(self) -> dict[str, Any]:
        config = files.read_json(self.config_file, "run configuration")
        if not isinstance(config, dict):
            raise InputError(f"{self.config_file} is not a run configuration.")
        return config


def _counts(entry: Path) -> bool:
    """Whether a file makes a folder one of somebody's, and not of a run that was killed before it began."""
    return entry.name not in run_lock.NAMES and not files.is_left_over(entry)


def _fresh(parent: Path, name: str) -> Path:
    parent.mkdir(parents=True, exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    for suffix in itertools.count(1):
        path = parent / (f"{name}-{stamp}" if suffix == 1 else f"{name}-{stamp}-{suffix}")
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue
    raise AssertionError("unreachable")
