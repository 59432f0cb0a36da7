"""Search over a step function: greedy, beam, sampling, constraints, ensembles (section 6.1 and later work)."""
