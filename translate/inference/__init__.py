"""Translation: engines, translators, scoring, and the options of `translate decode`."""
