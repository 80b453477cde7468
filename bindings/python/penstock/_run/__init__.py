"""`penstock run`: times the steps of an unedited training script.

The script:

command.py   starts the watch, then the script
options.py   the command line
program.py   runs a script or module as `__main__`
frames.py    removes frames of this package from tracebacks

The times:

imports.py   calls a function after an import
watch.py     patches PyTorch and penstock
loops.py     assigns the time to the loaders
steps.py     times of one loader
workers.py   times inside forked workers

The results:

recorder.py  records steps with torch.profiler
summary.py   figures of a run
causes.py    the diagnosis
report.py    the screen and the files
"""
