"""Errors that the caller can fix. The command line shows them as one line, without a traceback."""


class InputError(ValueError):
    """Raised for invalid input. The message states the expected and the actual value, and a fix."""


class ProcessLost(RuntimeError):
    """Raised when another process of a distributed training has ended."""


class NonFiniteLoss(ArithmeticError):
    """Raised when the loss, a weight or a bound diverges; nothing has been saved."""
