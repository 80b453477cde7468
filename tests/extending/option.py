"""Usage: option.py FOLDER [COMMAND]

Python's ReadOptions has the keyword of docs/extending.md, with its default and help."""

import penstock

assert penstock.ReadOptions().patience == 3
assert "patience: Reads of a value before its sample is bad." in penstock.ReadOptions.__init__.__doc__
