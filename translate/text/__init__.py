"""Rules that divide documents into sentences to translate and layout to copy, and that check translations."""
