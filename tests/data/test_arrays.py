"""Data in memory: checked at the door, served in batches."""

import numpy as np
import pytest
import torch

import augerino as ag
from augerino.data.arrays import count_classes, validate_batch
from augerino.data.batches import Batches


def test_batches_cover_everything_once_in_a_new_order():
    x = torch.arange(23)
    loader = Batches(x, x, 5)
    orders = [torch.cat([batch for batch, _ in loader]) for _ in range(2)]
    assert all(sorted(order.tolist()) == list(range(23)) for order in orders)
    assert not torch.equal(*orders)
    assert [len(batch) for batch, _ in loader] == [5, 5, 5, 5, 3] and len(loader) == 5
    assert torch.cat([batch for batch, _ in Batches(x, x, 5, shuffle=False)]).tolist() == list(
        range(23)
    )


@pytest.mark.parametrize(
    ("n", "size", "expected"),
    [(9, 4, [4, 5]), (1, 4, [1]), (5, 5, [5]), (3, 1, [1, 1, 1]), (2, 4, [2])],
)
def test_no_batch_of_one_is_left_over(n, size, expected):
    loader = Batches(torch.arange(n), torch.arange(n), size)
    assert [len(batch) for batch, _ in loader] == expected and len(loader) == len(expected)


def test_check_brings_data_into_form():
    x, y = validate_batch(np.full((4, 1, 2, 2), 255, dtype=np.uint8), np.array([0, 1, 0, 1]))
    assert x.dtype == torch.float32 and x.max() == 1 and y.dtype == torch.int64
    x, y = validate_batch(torch.rand(4, 3, dtype=torch.float64), torch.rand(4, dtype=torch.float64))
    assert x.dtype == torch.float32 and y.shape == (4, 1) and y.dtype == torch.float32
    assert validate_batch(torch.rand(2, 1), torch.tensor([True, False]))[1].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (torch.rand(0, 1, 2, 2), torch.zeros(0, dtype=torch.long), "empty"),
        (torch.rand(3, 1, 2, 2), torch.tensor([0, 1]), "one target per input"),
        (torch.rand(3, 1, 2, 2), torch.tensor([0, -1, 1]), "lowest is -1"),
        (torch.rand(3, 1, 2, 2), torch.tensor([[0], [1], [0]]), "one integer per input"),
        (
            torch.tensor([[1.0], [float("nan")]]),
            torch.tensor([0, 1]),
            "1 of 2 inputs contain NaN or Inf \\(the first is number 1\\)",
        ),
        (torch.rand(2, 1), torch.tensor([0.5, float("inf")]), "targets contain NaN"),
        ([["a"], ["b"]], torch.tensor([0, 1]), "array of numbers"),
        (torch.tensor(1.0), torch.tensor([0]), "one target per input"),
    ],
)
def test_bad_data_is_rejected_with_a_one_line_error(x, y, message):
    with pytest.raises(ag.InputError, match=message):
        validate_batch(x, y)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint32, torch.uint64, torch.int8])
def test_class_labels_may_be_integers_of_any_type(dtype):
    _, y = validate_batch(torch.rand(3, 1), torch.tensor([0, 1, 2]).to(dtype))
    assert y.dtype == torch.int64
    assert y.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("convert", "message"),
    [
        (lambda t: t.to(torch.complex64), "are complex"),
        (lambda t: t.to(torch.float8_e4m3fn), r"convert with \.float\(\)"),
        (lambda t: t.to_sparse(), r"convert with \.to_dense\(\)"),
        (lambda t: t.to("meta"), "has no values"),
    ],
    ids=["complex", "float8", "sparse", "meta"],
)
def test_tensors_that_cannot_be_computed_with_are_rejected(convert, message):
    x = torch.rand(3, 1)
    y = torch.rand(3)
    with pytest.raises(ag.InputError, match=f"The inputs .*{message}"):
        validate_batch(convert(x), y)
    with pytest.raises(ag.InputError, match=f"The targets .*{message}"):
        validate_batch(x, convert(y))


def test_inputs_of_16_bits_are_rejected_with_the_conversion():
    x = torch.zeros(2, 1, dtype=torch.uint16)
    with pytest.raises(ag.InputError, match=r"x\.float\(\) / 65535"):
        validate_batch(x, torch.tensor([0, 1]))


def test_classes_are_counted():
    assert count_classes(torch.tensor([2, 0, 1, 1])) == 3
    with pytest.raises(ag.InputError, match="only one class"):
        count_classes(torch.tensor([1, 1, 1]))
    with pytest.raises(ag.InputError, match="no sample has label 2"):
        count_classes(torch.tensor([0, 1, 7]))


def test_a_batch_needs_at_least_one():
    with pytest.raises(ag.InputError, match="batch_size must be at least 1"):
        Batches(torch.rand(3), torch.rand(3), 0)
