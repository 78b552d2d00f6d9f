"""bf16 is used where it is faster, and rejected where it would crash the process."""

import subprocess
import sys

import pytest
import torch

import augerino as ag
from augerino.training import precision
from augerino.training.precision import choose_precision

CPU = torch.device("cpu")


@pytest.fixture
def tiles(monkeypatch):
    """A processor with AMX, which no environment variable disables."""
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    monkeypatch.delenv(precision.ISA_VARIABLE, raising=False)
    precision.bf16_works.cache_clear()
    yield
    precision.bf16_works.cache_clear()


@pytest.mark.parametrize(
    ("trial", "expected"), [("pass", "bf16"), ("import os; os.abort()", "float32")]
)
def test_auto_takes_bf16_only_where_a_trial_succeeds(tiles, monkeypatch, trial, expected):
    monkeypatch.setattr(precision, "_TRIAL", trial)
    assert choose_precision("auto", CPU) == expected


def test_bf16_that_would_crash_the_process_is_rejected(tiles, monkeypatch):
    monkeypatch.setattr(precision, "_TRIAL", "import os; os.abort()")
    with pytest.raises(
        ag.InputError,
        match=r"use precision float32 or auto, or set ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16",
    ):
        choose_precision("bf16", CPU)
    assert choose_precision("float32", CPU) == "float32"


@pytest.mark.parametrize("isa", ["AVX512_CORE_BF16", "avx2"])
def test_whoever_keeps_onednn_from_amx_needs_no_trial_and_is_faster_in_float32(
    tiles, monkeypatch, isa
):
    monkeypatch.setattr(precision, "_TRIAL", "import os; os.abort()")
    monkeypatch.setenv(precision.ISA_VARIABLE, isa)
    assert precision.bf16_works() and choose_precision("bf16", CPU) == "bf16"
    assert choose_precision("auto", CPU) == "float32"


def test_a_trial_that_does_not_end_is_not_survived(tiles, monkeypatch):
    def never(*words, timeout, **options):
        raise subprocess.TimeoutExpired(words, timeout)

    monkeypatch.setattr(precision.subprocess, "run", never)
    assert not precision.bf16_works()


def test_a_frozen_program_starts_no_copy_of_itself(tiles, monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(precision.subprocess, "run", lambda *_, **__: pytest.fail("started itself"))
    assert precision.bf16_works()


def test_a_processor_without_tiles_needs_no_trial(tiles, monkeypatch):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    monkeypatch.setattr(
        precision.subprocess, "run", lambda *_, **__: pytest.fail("tried all the same")
    )
    assert precision.bf16_works()


def test_the_trial_is_a_product_in_bf16():
    """With the setting of conftest.py, since this machine may be one that needs it."""
    done = subprocess.run(
        [sys.executable, "-c", precision._TRIAL + "; print(a.dtype, (a @ a)[0, 0].item())"],
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["torch.bfloat16", "64.0"]
