"""The verbs of the command line, one function each; `translate.cli` parses for them."""
