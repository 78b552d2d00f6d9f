"""The command: parses and calls. Torch is imported only once there is work to do."""

import errno
import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from augerino.errors import InputError, NonFiniteLoss
from augerino.runtime.allocator import keep_memory

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)  # met by writing only


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code: 0 done, 1 failed, 2 wrong input, 130 interrupted."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words in (["--version"], ["-V"]):
        sys.stdout.write(f"augerino {version('augerino')}\n")
        return 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ± or × still gets its answer
    os.environ.setdefault(
        "OMP_WAIT_POLICY", "PASSIVE"
    )  # idle threads sleep: a busy machine costs 2x, not 20x
    keep_memory()
    try:
        if (
            "LOCAL_RANK" in os.environ and int(os.environ.get("WORLD_SIZE", "1")) > 1
        ):  # as torchrun sets them
            from augerino.app import processes

            return processes.run(words, _run)
        if words[:1] == ["run"] and len(words) > 1 and not words[1].startswith("-"):
            from augerino.app import experiment

            return experiment.run(words[1], words[2:])
        return _run(words)
    except (InputError, NonFiniteLoss) as error:
        sys.stderr.write(f"augerino: {error}\n")
        return 2 if isinstance(error, InputError) else 1
    except BrokenPipeError:  # whoever read our output has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        what = error.filename or "what was to be written"
        sys.stderr.write(
            f"augerino: Cannot write {what}: {error.strerror}. Make room, then go on with --resume or begin again.\n"
        )
        return 2
    except (MemoryError, RuntimeError) as error:
        if (
            not isinstance(error, MemoryError)
            and "DefaultCPUAllocator" not in str(error)
            and "out of memory" not in str(error)
        ):
            raise
        sys.stderr.write(
            "augerino: There is not enough memory for this. Smaller --batch-size, --size, --width or --train-copies need less.\n"
        )
        return 1
    except KeyboardInterrupt:
        sys.stderr.write("augerino: interrupted\n")
        return 130


def _run(words: list[str]) -> int:
    import tyro

    from augerino.app.options import (
        ExportOptions,
        LearnOptions,
        ListOptions,
        ReportOptions,
        RunOptions,
    )
    from augerino.app.parsing import in_a_sentence

    commands: dict[str, Callable[..., Any]] = {
        "learn": LearnOptions,
        "report": ReportOptions,
        "export": ExportOptions,
        "run": RunOptions,
        "list": ListOptions,
    }
    with in_a_sentence(f"augerino {words[0]}" if words and words[0] in commands else "augerino"):
        options = tyro.extras.subcommand_cli_from_dict(
            commands,
            prog="augerino",
            description="Learn the symmetries of your data. Start with: augerino learn",
            args=words or ["--help"],
        )
    if isinstance(options, ListOptions):
        from augerino.app import listing as catalogue

        return catalogue.run()
    if isinstance(options, ExportOptions):
        from augerino.app import export

        return export.run(options)
    if isinstance(options, ReportOptions):
        from augerino.app import report

        return report.run(options)
    if isinstance(options, RunOptions):
        if options.resume is None:
            raise InputError("run needs the name of an experiment; `augerino list` lists them.")
        from augerino.app import experiment

        return experiment.resume(options.resume, take_over=options.take_over)
    from augerino.app import learn

    return learn.run(options, words)


if __name__ == "__main__":
    sys.exit(main())
