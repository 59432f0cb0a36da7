#!/usr/bin/env python3
"""Run a benchmark: python scripts/bench.py CASE. Cases are the files in scripts/cases; see harness.py."""

import sys

from harness import main

if __name__ == "__main__":
    sys.exit(main())
