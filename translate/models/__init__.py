"""Translation models as folders, and the registry of their names; the models that ship stand here too."""
