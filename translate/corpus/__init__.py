"""Corpora: sources, cleaning, the tokenizer, and the token store."""
