"""Export to and import from other toolkits; exports and Marian imports are compared with the original."""
