"""Training: updates, the training loop, checkpoints, several processes, run directories."""
