"""`penstock tune-dataloader`: finds the fastest settings of a torch DataLoader in a quarter of the runs of a sweep.

The command's process does not import torch:

command.py    runs the search, and prints its result
options.py    the command line

The search:

setting.py    the settings, and the grid of a sweep
search.py     chooses the next runs
rows.py       figures of all runs of a setting

The result:

report.py     the table, the recommendation and the JSON

A run:

processes.py  starts a process, and measures its memory
trial.py      runs in this process
source.py     calls the function of the script

The loaders of a run:

rebuilt.py    a DataLoader with other settings
replaced.py   the same data through penstock
"""
