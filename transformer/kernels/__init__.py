"""Faster implementations of parts of the model; tests compare each with a plain equivalent."""
