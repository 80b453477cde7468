"""`ps.layers`: parameters, FLOPs and latency of each module of a torch model.

layers.py   the function, and the rows of its result
measure.py  the runs
result.py   rows and table
calls.py    the calls of a run, and the autograd nodes that belong to them
clocks.py   times on the CPU and on a GPU
kept.py     restores the state of the model
values.py   tensors in nested inputs and outputs
step.py     latency of an optimizer step
"""
