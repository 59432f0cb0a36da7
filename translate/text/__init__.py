"""Text processing by rules: sentences, formats, placeholders, passages, guards, languages."""
