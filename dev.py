"""Development commands for a machine with Python and pip, such as `python3 dev.py test`.

Each command first creates a virtual environment in .venv, or updates it if the requirements have
changed.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
EXTRAS = HERE / ".venv-extras"
DOCS = HERE / ".venv-docs"
BIN = "Scripts" if os.name == "nt" else "bin"


def run(*words: str | Path, cwd: Path = HERE, **variables: str) -> None:
    """Runs a command and exits with its exit code if it fails."""
    environment = {
        key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
    } | variables
    done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, check=False)
    if done.returncode:
        sys.exit(done.returncode)


def make_environment(folder: Path, *what: str) -> Path:
    """A virtual environment with something installed under our constraints; returns its Python."""
    python = folder / BIN / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    # Not compiling what may never be imported is most of the set-up time.
    options = (
        "--quiet",
        "--disable-pip-version-check",
        "--no-compile",
        "-c",
        str(HERE / "constraints.txt"),
    )
    run(python, "-m", "pip", "install", *options, *what)
    return python


def set_up(folder: Path = ENVIRONMENT, *what: str) -> Path:
    """A virtual environment, created or updated if the requirements have changed."""
    requirements = (HERE / "pyproject.toml").read_bytes() + (HERE / "constraints.txt").read_bytes()
    digest = hashlib.sha256(requirements).hexdigest()
    stamp, python = folder / "requirements.sha256", folder / BIN / "python"
    if not (python.exists() and stamp.exists() and stamp.read_text() == digest):
        print(f"Setting up {folder.name} (once) ...", flush=True)
        make_environment(folder, *(what or ("-e", ".[dev]")))
        stamp.write_text(digest)
    return python


def demo(*options: str) -> None:
    """Learn the symmetries of the embedded data (options as for `augerino learn`)."""
    # The work is too small for several threads, and their number changes the last digits.
    run(set_up(), "-m", "augerino", "learn", *options, OMP_NUM_THREADS="1")


def test(*options: str) -> None:
    """Check style and types, then run the tests, one thread per worker (options as for pytest)."""
    python = set_up()
    run(python, "-m", "ruff", "check", ".")
    run(python, "-m", "ruff", "format", "--check", ".")
    run(python, "-m", "mypy")
    run(
        python,
        "-m",
        "pytest",
        "-m",
        "not slow",
        "-n",
        str(os.cpu_count() or 1),
        *options,
        OMP_NUM_THREADS="1",
    )


def slow(*options: str) -> None:
    """Run the slow tests."""
    run(set_up(), "-m", "pytest", "-m", "slow", *options)


def extras(*options: str) -> None:
    """Run the tests that need other libraries (kornia, lightning, ...), in a second environment."""
    python = set_up(EXTRAS, "-e", ".[dev,all]")
    run(
        python,
        "-m",
        "pytest",
        "-m",
        "extras and not slow",
        "-n",
        str(os.cpu_count() or 1),
        *options,
        OMP_NUM_THREADS="1",
    )


def coverage(*options: str) -> None:
    """Run the tests and print their coverage."""
    test("--cov=augerino", "--cov-report=term-missing:skip-covered", *options)


def wheel() -> None:
    """Build the wheel, install it in a clean environment, and run the installed command."""
    python = set_up()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(python, "-m", "build", "--wheel", "--outdir", folder, HERE)
        (built,) = folder.glob("*.whl")
        make_environment(folder / "venv", str(built))
        command = folder / "venv" / BIN / "augerino"
        run(command, "--version", cwd=folder)
        run(
            command,
            "learn",
            "sprites",
            "--epochs",
            "2",
            "--coordinates",
            "rotate",
            "--out",
            "run",
            cwd=folder,
        )
        if not (folder / "run" / "result.json").exists():
            sys.exit("The installed command left no result.json.")


def docs(*options: str) -> None:
    """Build the documentation in build/site and fail on broken links (--serve for a preview)."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    # Neither augerino nor torch: the reference is read from the source.
    python = set_up(DOCS, *project["optional-dependencies"]["docs"])
    serve = "--serve" in options
    rest = [option for option in options if option != "--serve"]
    run(python, "-m", "mkdocs", "serve" if serve else "build", *rest, NO_MKDOCS_2_WARNING="1")


def clean() -> None:
    """Remove the environments."""
    for folder in (ENVIRONMENT, EXTRAS, DOCS):
        shutil.rmtree(folder, ignore_errors=True)


COMMANDS = {
    command.__name__: command
    for command in (demo, test, slow, extras, coverage, wheel, docs, clean)
}


def main() -> None:
    """Runs the named command."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        listed = "\n".join(f"  {name:10} {command.__doc__}" for name, command in COMMANDS.items())
        sys.exit(f"python3 dev.py COMMAND [OPTIONS]\n{listed}")
    COMMANDS[sys.argv[1]](*sys.argv[2:])


if __name__ == "__main__":
    main()
