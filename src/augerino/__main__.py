"""Runs the command line: `python -m augerino`."""

import sys

from augerino.app.cli import main

sys.exit(main())
