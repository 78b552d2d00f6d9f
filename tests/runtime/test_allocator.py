"""Freed memory is kept by our programs, unless the environment configures malloc."""

import ctypes
import os
import platform
import subprocess
import sys

import pytest

from augerino.app.cli import main
from augerino.runtime import allocator

GLIBC = platform.libc_ver()[0] == "glibc"

# Allocates and frees a large block repeatedly, as training does, and counts the page faults.
FAULTS = """
import ctypes, resource, sys
from augerino.runtime.allocator import keep_memory
if sys.argv[1] == "keep":
    assert keep_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
for turn in range(5):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    piece = libc.malloc(48 * 2**20)
    ctypes.memset(piece, 1, 48 * 2**20)
    libc.free(piece)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def without(*names: str) -> dict[str, str]:
    return {
        key: value
        for key, value in os.environ.items()
        if not key.startswith("MALLOC_") and key not in names
    }


@pytest.mark.skipif(not GLIBC, reason="needs glibc")
def test_a_large_piece_that_was_freed_is_not_cleared_again():
    faults = {}
    for how in ("keep", "plain"):
        words = [sys.executable, "-c", FAULTS, how]
        done = subprocess.run(
            words, capture_output=True, text=True, check=True, env=without("GLIBC_TUNABLES")
        )
        faults[how] = int(done.stdout)
    assert faults["keep"] < 10 < faults["plain"]


@pytest.mark.parametrize("name", ["MALLOC_ARENA_MAX", "GLIBC_TUNABLES"])
def test_settings_of_malloc_in_the_environment_are_kept(monkeypatch, name):
    monkeypatch.setattr(
        ctypes, "CDLL", lambda name: pytest.fail("malloc was configured nevertheless")
    )
    monkeypatch.setenv(name, "1")
    assert not allocator.keep_memory()


@pytest.mark.parametrize("error", [OSError, TypeError, AttributeError])
def test_another_c_library_is_not_touched(monkeypatch, error):
    def missing(name):
        raise error

    monkeypatch.setattr(ctypes, "CDLL", missing)
    monkeypatch.setattr(os, "environ", {})
    assert not allocator.keep_memory()


def test_the_command_keeps_freed_memory(monkeypatch):
    called = []
    monkeypatch.setattr("augerino.app.cli.keep_memory", lambda: called.append(True))
    assert main(["list"]) == 0 and called
