"""Text that is safe to print: a control character could change the terminal."""


def printable(text: str) -> str:
    """Escapes control characters and invalid ones, but not line breaks.

    Example:
        >>> print(printable("a\\x1b[31mb"))
        a\\x1b[31mb
    """
    return "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    if letter.isprintable() or letter == "\n":
        return letter
    return letter.encode("unicode_escape").decode()
