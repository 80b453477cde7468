"""Custom transforms: Python functions of the program, with their inputs, results, threads and seeds.

functions.py has ps.transform() and ps.sample_transform(). plan.py splits chains between the loader's workers and
Python. step.py is called by a loader with each batch. rows.py runs one row. batch.py runs a batch in this thread.
processes.py runs it in other processes, which run worker.py. seeds.py seeds generators before each row.
"""
