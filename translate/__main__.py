"""`python -m translate` is the command `translate`."""

import sys

from translate.cli import main

sys.exit(main())
