"""Damaged files of every format are either read or rejected with a one-line error.

The extended version is python -m benchmarks.fuzz_readers.
"""

import signal

import pytest
from benchmarks import fuzz_readers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KINDS = 27


@pytest.fixture(scope="module")
def victims(tmp_path_factory):
    return fuzz_readers.make_good(tmp_path_factory.mktemp("good"))


@pytest.fixture(scope="module")
def limit():
    """Raises where a case takes so long that it must hang."""

    def hang(*_):
        raise TimeoutError("reading hangs")

    before = signal.signal(signal.SIGALRM, hang)
    yield signal.alarm
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_the_good_ones_are_read(victims):
    assert len(victims) == KINDS
    for victim in victims.values():
        (victim.read or fuzz_readers.read_all)(victim.path)


@settings(
    max_examples=300,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(kind=st.integers(0, KINDS - 1), seed=st.integers(0, 2**32 - 1))
def test_damaged_ones_are_read_or_rejected_with_a_one_line_error(victims, limit, kind, seed):
    limit(60)
    assert fuzz_readers.try_case(list(victims.values())[kind], seed) in ("read", "rejected")
    limit(0)
