"""Grids of runs: planning, running, records, and the table of results."""
