"""`ps.layers`: parameters, FLOPs and latency of each module of a torch model.

The function:

layers.py   its arguments
measure.py  the runs
rows.py     the figures of all runs
result.py   the table

A run:

calls.py    calls of modules and their autograd nodes
step.py     an optimizer step
clocks.py   times on the CPU and on a GPU

Around it:

kept.py     restores the state of the model
values.py   tensors in nested inputs and outputs
"""
