"""Model folders, the registry of model names, and the models that come with the package."""
