"""Run the command `translate` as `python -m translate`."""

import sys

from translate.cli import main

sys.exit(main())
