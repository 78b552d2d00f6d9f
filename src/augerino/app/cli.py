"""The `augerino` command: parses the options. Imports torch only for commands that need it."""

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from augerino.app.wrapping import wrap
from augerino.errors import InputError, NonFiniteLoss
from augerino.runtime.allocator import keep_memory

_DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # raised only by writing


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code.

    Returns:
        0 for success, 1 for failure, 2 for wrong input, 130 after an interruption.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"augerino {version('augerino')}\n")
        return 0
    _prepare_process()
    try:
        return _dispatch(words)
    except SystemExit as end:  # the option parser has printed the help or an error
        return int(end.code or 0)
    except InputError as error:
        return _fail(str(error), 2)
    except NonFiniteLoss as error:
        return _fail(str(error), 1)
    except KeyboardInterrupt:
        return _fail("Interrupted.", 130)
    except BrokenPipeError:  # the reader of our output has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in _DISK_ERRORS:
            raise
        problem = f"Cannot write {error.filename or 'a file'}: {error.strerror}."
        return _fail(f"{problem} Free some space, then use --resume or start again.", 2)
    except (MemoryError, RuntimeError) as error:
        if not _is_out_of_memory(error):
            raise
        return _fail(
            "Not enough memory. Reduce --batch-size, --size, --width or --train-copies.", 1
        )


def _fail(message: str, code: int) -> int:
    sys.stderr.write(wrap(f"augerino: {message}", sys.stderr) + "\n")
    return code


def _prepare_process() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # for terminals without ± or ×
    # Idle threads sleep. Spinning ones slow the training down 20x instead of 2x on a busy machine.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    keep_memory()


def _is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    return any(sign in str(error) for sign in ("DefaultCPUAllocator", "out of memory"))


def _dispatch(words: list[str]) -> int:
    """Runs the command in this process, or as one of the processes that torchrun started."""
    if _world_size() > 1:
        from augerino.app import processes

        return processes.run(words, _run)
    if words[:1] == ["run"] and len(words) > 1 and not words[1].startswith("-"):
        from augerino.app import experiment

        return experiment.run(words[1], words[2:])
    return _run(words)


def _world_size() -> int:
    """The number of processes that torchrun has started; 1 without it."""
    if "LOCAL_RANK" not in os.environ:
        return 1
    value = os.environ.get("WORLD_SIZE", "1")
    if not value.isdecimal():
        raise InputError(
            f"The environment variable WORLD_SIZE must be a number of processes, but is "
            f"{value!r}: unset it and LOCAL_RANK, or start with torchrun."
        )
    return int(value)


def _run(words: list[str]) -> int:
    from augerino.app.options import ExportOptions, ListOptions, ReportOptions, RunOptions

    options = _parse(words)
    if isinstance(options, ListOptions):
        from augerino.app import listing

        return listing.run()
    if isinstance(options, ExportOptions):
        from augerino.app import export

        return export.run(options)
    if isinstance(options, ReportOptions):
        from augerino.app import report

        return report.run(options)
    if isinstance(options, RunOptions):
        if options.resume is None:
            raise InputError(
                "Missing name of the experiment. "
                "Pass a name of `augerino list`, as in `augerino run rotmnist`."
            )
        from augerino.app import experiment

        return experiment.resume(options.resume, take_over=options.take_over)
    from augerino.app import learn

    return learn.run(options, words)


def _parse(words: list[str]) -> Any:
    import tyro

    from augerino.app import options
    from augerino.app.parsing import NUMBERS

    commands: dict[str, Callable[..., Any]] = {
        "learn": options.LearnOptions,
        "report": options.ReportOptions,
        "export": options.ExportOptions,
        "run": options.RunOptions,
        "list": options.ListOptions,
    }
    with NUMBERS:
        return tyro.extras.subcommand_cli_from_dict(
            commands,
            prog="augerino",
            description="Learn the symmetries of your data. Start with: augerino learn",
            args=words or ["--help"],
        )


if __name__ == "__main__":
    sys.exit(main())
