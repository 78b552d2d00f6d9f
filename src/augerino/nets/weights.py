"""Comparison of the weights of a network with saved ones."""

from collections.abc import Mapping

from torch import Tensor


def first_mismatch(own: Mapping[str, Tensor], saved: Mapping[str, Tensor]) -> str | None:
    """Describes the first difference in names or shapes between two sets of weights.

    Args:
        own: the weights of the network.
        saved: the weights of the file.

    Returns:
        A clause for an error message, or None if names and shapes agree.
    """
    for name in sorted(own.keys() ^ saved.keys()):
        if name in own:
            return f"'{name}' is missing in the file"
        return f"'{name}' is unknown to the network"
    for name, value in own.items():
        expected = tuple(value.shape)
        found = tuple(saved[name].shape)
        if found != expected:
            return f"'{name}' is {expected} in the network but {found} in the file"
    return None
