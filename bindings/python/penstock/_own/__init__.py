"""Functions of the program's own: what they see and return, where they run, and how their draws are seeded.

step.py has ps.transform() and ps.sample() and what a loader makes of them; rows.py runs one row, batch.py a batch in this
thread, processes.py one in others, whose side is worker.py; seeds.py seeds generators before a row.
"""
