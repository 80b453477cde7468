"""`penstock run`: times the steps of an unedited training script.

options.py   the command line
command.py   starts the watch, then the script
program.py   runs a script or module as `__main__`, as Python itself does
imports.py   calls a function once a module was imported
frames.py    removes this package's frames from tracebacks
steps.py     the times of the steps of one loader
loops.py     the running loops: which part of the time belongs to which loader
watch.py     patches PyTorch and penstock, and owns all records
workers.py   times the work inside forked worker processes
recorder.py  records some steps with torch.profiler
summary.py   the figures of a run
causes.py    the diagnosis, and predicted remedies
report.py    the screen and the files
"""
