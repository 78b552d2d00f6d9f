"""Structured batches: tensors, and tuples, lists and dicts of tensors, all with the batch first.

Entries that are not tensors are passed through unchanged.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from augerino.errors import InputError


def map(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """Applies a function to every tensor of a tree and keeps the structure."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, Mapping):
        return {key: map(function, value) for key, value in tree.items()}
    if not isinstance(tree, list | tuple):
        return tree
    values = [map(function, value) for value in tree]
    if hasattr(tree, "_fields"):  # a named tuple takes its fields one by one
        return type(tree)(*values)
    return type(tree)(values)


def to(tree: Any, device: torch.device | str, *, non_blocking: bool = False) -> Any:
    """Moves every tensor of a tree to a device."""
    return map(lambda leaf: leaf.to(device, non_blocking=non_blocking), tree)


def take(tree: Any, index: Tensor | slice) -> Any:
    """Selects items of a batch: `leaf[index]` for every tensor of a tree."""
    return map(lambda leaf: leaf[index], tree)


def leaves(tree: Any) -> Iterator[Tensor]:
    """Yields every tensor of a tree, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from leaves(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from leaves(value)


def batch_size(tree: Any) -> int:
    """The common size of the first dimension of all tensors of a tree."""
    tensors = list(leaves(tree))
    if not tensors or any(tensor.dim() == 0 for tensor in tensors):
        raise _batch_error(tensors)
    size = tensors[0].shape[0]
    # Compared one by one: a symbolic batch size of torch.export cannot be put into a set.
    if any(tensor.shape[0] != size for tensor in tensors):
        raise _batch_error(tensors)
    return size


def _batch_error(tensors: list[Tensor]) -> InputError:
    shapes = ", ".join(str(tuple(tensor.shape)) for tensor in tensors)
    return InputError(
        "The tensors of a batch must share their first dimension, "
        f"but their shapes are: {shapes or 'none'}."
    )


def repeat(tree: Any, n: int) -> Any:
    """Repeats a batch n times along its first dimension.   (B, ...) -> (nB, ...)"""
    if n == 1:
        return tree
    return map(lambda leaf: leaf.repeat(n, *[1] * (leaf.dim() - 1)), tree)
