"""Export to and import from other toolkits; each converted model is verified against the original."""
