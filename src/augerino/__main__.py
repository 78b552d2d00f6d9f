"""`python -m augerino`."""

import sys

from augerino.cli import main

sys.exit(main())
