"""The experiment file (TOML): its schema and its loader."""
