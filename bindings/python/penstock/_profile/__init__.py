"""Measures a training loop over any loader: `penstock.profile()`.

profile.py    the public object: the wrapped loader with its measurements, and one loop over it
times.py      the times of all loops over it, in nanoseconds, and copies of them
scheduling.py whether the loading threads and processes were on a core
about.py      the kind of loader
batch.py      facts about one batch: its rows, the size of its images
verdict.py    one sentence with the diagnosis
files.py      the files that a loader reads
compare.py    penstock's rate on the same files
steps.py      the times of steps, as programs get them; schedule()
text.py       numbers for people
"""
