"""Run the command `translate` as `python -m translate`."""

import sys

from translate.commands.main import main

sys.exit(main())
