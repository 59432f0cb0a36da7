"""The server of `translate serve`: LibreTranslate's REST API on the models of this project."""
