"""Text processing by rules: sentences, formats, markup, placeholders, checks, languages."""
