"""Wraps messages at the width of the terminal. In a log, a message stays on one line.

Control characters, as in the names of files, are escaped.
"""

import shutil
import textwrap
from typing import IO

from augerino.runtime.printable import printable


def wrap(message: str, stream: IO[str]) -> str:
    """Wraps a message at the width of the terminal that the stream writes to; paths stay whole."""
    message = printable(message)
    if not stream.isatty():
        return message
    columns = shutil.get_terminal_size().columns
    return textwrap.fill(
        message,
        max(columns, 20),
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
    )
