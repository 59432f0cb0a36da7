"""Text in, text out: engines, translators, and the research options of search."""
