"""Usage: option.py FOLDER [COMMAND]

Python's Loader has the keyword of docs/extending.md, with its default and help."""

import inspect

import penstock

assert inspect.signature(penstock.Loader).parameters["patience"].default == 3
assert "patience: Reads of a value before its sample is bad." in penstock.Loader.__init__.__doc__
