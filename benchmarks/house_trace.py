"""The files that `augerino learn FOLDER` enters on its way to report.html.

Files come in the order in which one of their functions is first called; calls that are made while
the package is being imported do not count.
"""

import contextlib
import inspect
import io
import runpy
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any


def is_importing(frame: FrameType | None, package: Path) -> bool:
    """Whether a frame runs because a module of the package is being imported."""
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        is_module = frame.f_code.co_name == "<module>" and path.name != "__main__.py"
        if is_module and path.is_relative_to(package):
            return True
        frame = frame.f_back
    return False


def files_entered(package: Path, module: str, *arguments: str) -> list[Path]:
    """Runs `python -m module` and returns the files of the package that it enters, in order."""
    entered: dict[Path, None] = {}

    def record(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event != "call" or path in entered or not path.is_relative_to(package):
            return
        is_function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # no module, no class body
        if is_function and not is_importing(frame, package):
            entered[path] = None

    argv = sys.argv
    sys.argv = [module, *arguments]
    sys.setprofile(record)
    try:
        with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()):
            runpy.run_module(module, run_name="__main__")
    finally:
        sys.setprofile(None)
        sys.argv = argv
    return [path.relative_to(package) for path in entered]


def trace_learn(package: Path, *options: str) -> dict[str, float]:
    """Figures of one epoch of `augerino learn` on images of two classes, enough to be probed."""
    import numpy as np
    from PIL import Image

    pixels = np.random.default_rng(0).integers(256, size=(200, 12, 12, 3), dtype=np.uint8)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, image in enumerate(pixels):
            path = folder / "images" / f"class_{i % 2}" / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(path)
        run = folder / "run"
        command = ["learn", str(folder / "images"), "--epochs", "1", "--out", str(run), *options]
        files = files_entered(package, "augerino", *command)
        if not (run / "report.html").exists():
            raise RuntimeError("`augerino learn` wrote no report.html; run it on a small folder.")
    return {
        "trace_files": len(files),
        "trace_folder_changes": sum(a.parent != b.parent for a, b in pairwise(files)),
        "trace_entry_changes": sum(a.parts[0] != b.parts[0] for a, b in pairwise(files)),
    }
