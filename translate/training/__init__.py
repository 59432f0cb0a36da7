"""Training: one update, the loop around it, and checkpoints that resume to the last bit."""
