"""Text as people have it, taken apart into what is translated and what is copied; rules, no model."""
