"""Structured batches: tensors, and tuples, lists and dicts of them, all with the batch first.

Entries that are not tensors pass through untouched.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch import Tensor

from augerino.errors import InputError


def map(function: Callable[[Tensor], Tensor], tree: Any) -> Any:
    """Applies a function to every tensor of a tree and keeps the structure."""
    if isinstance(tree, Tensor):
        return function(tree)
    if isinstance(tree, Mapping):
        return {key: map(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map(function, value) for value in tree))
    if isinstance(tree, list | tuple):
        return type(tree)(map(function, value) for value in tree)
    return tree


def leaves(tree: Any) -> Iterator[Tensor]:
    """Every tensor of a tree, in order."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from leaves(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from leaves(value)


def batch_size(tree: Any) -> int:
    """The length that all tensors of a tree share in their first dimension."""
    found = list(leaves(tree))
    # Compared one by one: a batch size that torch.export keeps open cannot be put into a set.
    if not found or any(leaf.dim() == 0 or leaf.shape[0] != found[0].shape[0] for leaf in found):
        shapes = ", ".join(str(tuple(leaf.shape)) for leaf in found) or "no tensor at all"
        raise InputError(
            f"A batch needs tensors of one common first dimension, but its shapes are: {shapes}."
        )
    return found[0].shape[0]


def repeat(tree: Any, n: int) -> Any:
    """Stacks n copies along the batch, copy after copy.   (B, ...) -> (nB, ...)"""
    return tree if n == 1 else map(lambda leaf: leaf.repeat(n, *[1] * (leaf.dim() - 1)), tree)
