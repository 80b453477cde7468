"""`penstock tune-dataloader`: finds the fastest settings of a torch DataLoader in a quarter of the runs of a sweep.

In the command's process, which does not import torch:

command.py   runs the search and prints its result
options.py   the command line
setting.py   the settings, and the grid of a sweep
search.py    chooses the next runs
rows.py      figures of all runs of a setting, and the noise
report.py    the table, the recommendation and the JSON
processes.py starts a run in its own process, and measures its memory

In the process of a run:

trial.py     the run
source.py    calls the function of the script
rebuilt.py   a DataLoader with other settings
replaced.py  the same data through penstock
"""
