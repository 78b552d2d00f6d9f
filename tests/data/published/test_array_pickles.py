"""Byte arrays from pickles: valid ones are read, and no code of a pickle is executed."""

import os
import pickle

import numpy as np
import pytest

import augerino as ag
from augerino.data.published.array_pickles import read_arrays


class Calls:
    """Pickled as a call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def test_arrays_of_numpy_are_read_back():
    data = {b"data": np.arange(15, dtype=np.uint8).reshape(3, 5), "labels": [1, 2, 3]}
    found = read_arrays(pickle.dumps(data, 4), "x")
    assert np.array_equal(found["data"], data[b"data"]) and found["labels"] == [1, 2, 3]


def test_arrays_of_python_2_are_read_back():
    """The form of CIFAR-10: protocol 2, byte strings, and the module names of an old numpy."""
    content = (
        b"\x80\x02}q\x01(U\x04dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85U\x01b\x87Rq\x05"
        b"(K\x01K\x02K\x03\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
        b"K\x00tb\x89U\x06abcdeftbU\x06labelsq\x08]q\x09(K\x07K\x08eu."
    )
    found = read_arrays(content, "x")
    assert found["data"].tolist() == [[97, 98, 99], [100, 101, 102]] and found["labels"] == [7, 8]


@pytest.mark.parametrize(
    "function",
    [os.system, eval, print, np.load, np.frombuffer, getattr, __import__],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_no_function_of_a_pickle_is_called(function, protocol, tmp_path):
    content = pickle.dumps({"data": Calls(function, f"touch {tmp_path}/executed")}, protocol)
    with pytest.raises(
        ag.InputError,
        match=r"x is not a pickle of byte arrays: it imports .*, which no array of bytes needs",
    ):
        read_arrays(content, "x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "pickle exhausted before seeing STOP"),
        (b"hello", "."),
        (pickle.dumps([1, 2]), "no dictionary"),
        (pickle.dumps({"data": np.array([1.5])}, 4), "another type than bytes"),
        (pickle.dumps({"data": np.array([object])}, 4), "it imports builtins.object"),
        (pickle.dumps({"data": np.array([None])}, 4), "another type than bytes"),
        (
            pickle.dumps({"data": np.asfortranarray(np.zeros((2, 3), np.uint8))}, 4),
            "another type than bytes",
        ),
        (
            pickle.dumps({"data": np.zeros(600, np.uint8)}, 4).replace(
                b"M\x58\x02", b"M\xff\xff", 1
            ),
            "it holds an array of shape",
        ),
        (pickle.dumps({"data": np.zeros(600, np.uint8)}, 4)[:300], "."),
        (b"cnumpy\nndarray\n.", "no dictionary"),
        (
            b"\x80\x02Nr\x00\x00\x01\x10.",
            "allocates more memory than byte arrays need",
        ),  # 9 bytes that took gigabytes
        (b"Np99999999\n.", "allocates more memory"),
        (b"(dS'data'\ncnumpy.core.multiarray\n_reconstruct\n(tRs.", "."),
    ],
)
def test_all_other_files_are_one_line_errors(content, reason):
    with pytest.raises(ag.InputError, match=reason) as caught:
        read_arrays(content, "batch\n1")
    assert "\n" not in str(caught.value) and str(caught.value).startswith(
        "batch\\n1 is not a pickle of byte arrays"
    )
