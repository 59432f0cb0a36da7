"""Searches over any step function: greedy, beam, sampling, constraints, ensembles (section 6.1 and later work)."""
