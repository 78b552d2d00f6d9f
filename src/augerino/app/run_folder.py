"""The folder of a run. An existing run is never overwritten."""

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
    """The files of a run: configuration, history, policy, result, checkpoint and figures."""

    path: Path

    @classmethod
    def create(cls, out: str | Path | None, name: str) -> "RunFolder":
        """Creates `out`, which must be empty if it exists, or a new folder in runs/."""
        try:
            if out is None:
                return cls(_fresh(Path("runs"), name))
            path = Path(out)
            if not _is_free(path):
                raise InputError(
                    f"{path} already exists. Choose another --out, "
                    f"or resume an interrupted run with --resume {path}."
                )
            path.mkdir(parents=True, exist_ok=True)
            return cls(path)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(
                f"Cannot create the run folder {out or 'runs'}: {reason}. Choose another --out."
            ) from error

    @classmethod
    def open(cls, path: str | Path) -> "RunFolder":
        """Opens an existing run folder."""
        folder = cls(Path(path))
        if not folder.config_file.is_file():
            raise InputError(
                f"{path} is not a run folder: it contains no config.json. "
                "Pass the folder that `augerino learn` or `augerino run` has created."
            )
        return folder

    @contextmanager
    def writing(
        self, *, take_over: bool = False, say: Callable[[str], None] | None = None
    ) -> Iterator[None]:
        """Holds the lock of the folder and removes the temporary files of a killed process.

        Of several processes that train together, only the first calls this. Readers need no lock.

        Args:
            take_over: whether to ignore an owner on another machine, which cannot be checked.
            say: called with a message when the lock of a process that has ended is taken over.
        """
        with run_lock.hold(self.path, take_over=take_over, say=say):
            for path in self.path.rglob("*"):
                if path.is_symlink() and not path.resolve().is_relative_to(self.path.resolve()):
                    raise InputError(
                        f"{path} is a link that leads out of the run folder. Remove it."
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
        """The folder of the trained model, written by `save_pretrained`."""
        return self.path / "model"

    @property
    def finished(self) -> bool:
        """Whether there is a result, and not only a preliminary one within a time limit."""
        path = self.path / "result.json"
        if not path.exists():
            return False
        found = files.read_json(path, "result")
        return not (isinstance(found, dict) and found.get("interrupted"))

    @property
    def figures(self) -> Path:
        (self.path / "figures").mkdir(exist_ok=True)
        return self.path / "figures"

    def write_config(self, config: dict[str, Any]) -> None:
        files.write_json(self.config_file, {"format": files.RUN_FORMAT, **config})

    def read_config(self) -> dict[str, Any]:
        config = files.read_json(self.config_file, "run configuration")
        if not isinstance(config, dict):
            raise InputError(
                f"{self.config_file} is not a run configuration: expected a JSON object."
            )
        return config


def _is_free(path: Path) -> bool:
    """Whether a path is missing, empty, or contains only leftovers of a killed process."""
    if not path.exists():
        return True
    if not path.is_dir():
        return False
    return all(
        entry.name in run_lock.NAMES or files.is_left_over(entry) for entry in path.iterdir()
    )


def _fresh(parent: Path, name: str) -> Path:
    """Creates a folder NAME-DATE-TIME, with a number if it exists."""
    parent.mkdir(parents=True, exist_ok=True)
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    for suffix in itertools.count(1):
        path = parent / f"{name}-{stamp}"
        if suffix > 1:
            path = parent / f"{name}-{stamp}-{suffix}"
        try:
            path.mkdir()
            return path
        except FileExistsError:
            continue
    raise AssertionError("unreachable")
