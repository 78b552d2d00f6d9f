"""Comparison of two sets of weights."""

from collections.abc import Mapping

from torch import Tensor


def gap_between(own: Mapping[str, Tensor], weights: Mapping[str, Tensor]) -> str | None:
    """What differs first between two sets of weights, in words."""
    for name in sorted(own.keys() ^ weights.keys()):
        return f"'{name}' is {'missing in the file' if name in own else 'unknown to the network'}"
    for name, value in own.items():
        if value.shape != weights[name].shape:
            return f"'{name}' is {tuple(value.shape)} in the network but {tuple(weights[name].shape)} in the file"
    return None
