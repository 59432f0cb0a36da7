"""Corpora: sources, cleaning, tokenizer, token files, batches, and the built-in grammar."""
