"""The options of each verb as a dataclass: names, types, defaults and help texts.

The docstring of a class is the help text of its verb. These modules import nothing heavy, so that `--help` stays fast.
"""
