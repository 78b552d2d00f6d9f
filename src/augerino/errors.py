"""The errors that are the caller's to mend. The command line shows them as one sentence; anything else is a bug of ours."""


class InputError(ValueError):
    """Something given cannot be used: the message says what was expected, what came, and what to do."""


class ProcessLost(RuntimeError):
    """Another process of the same training has ended, and this one cannot go on without it."""


class NonFiniteLoss(ArithmeticError):
    """Training met a loss or a weight that is no number, or a bound beyond all meaning, and stopped before it spoilt anything."""
