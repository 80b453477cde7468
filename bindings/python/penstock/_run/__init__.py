"""`penstock run`: times the steps of an unedited training script.

The script:

command.py   starts the watch, then the script
options.py   the command line
program.py   runs a script or module as `__main__`
frames.py    removes frames of this package from tracebacks

The times of loops:

imports.py     calls a function after an import
watch.py       patches PyTorch and penstock
optimizers.py  times the steps of optimizers
loops.py       assigns the time to the loaders
steps.py       times of one loader

The times of workers and devices:

workers.py   times inside worker processes
spawned.py   the same, for workers that are not forked
device.py    times of a GPU, by CUDA events

During the run:

recorder.py       records steps with torch.profiler
loader_traces.py  adds the traces of penstock loaders
publisher.py      shows the run to `penstock top`
signals.py        reports before a signal ends the program

The results:

summary.py      figures of a run
causes.py       the diagnosis
rank_folder.py  exchanges figures between ranks
ranks.py        the diagnosis of several ranks
report.py       the screen and the files
"""
