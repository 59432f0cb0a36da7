"""The benchmarks, one in each file. A new file with a value CASE is all that a new benchmark needs."""
