"""Functions of the program's own: what they see and return, where they run, and how their draws are seeded.

functions.py has ps.transform() and ps.sample_transform(); plan.py parts chains between the loader's workers and Python; step.py is
what a loader calls with each batch. rows.py runs one row, batch.py a batch in this thread, processes.py one in others,
whose side is worker.py; seeds.py seeds generators before a row.
"""
