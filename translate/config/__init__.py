"""The experiment file (TOML): its sections, and how it is loaded."""
