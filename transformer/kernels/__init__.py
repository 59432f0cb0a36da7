"""Kernels that are there for speed alone; each has a plain equivalent that the tests compare it with."""
