"""Measures a training loop over any loader: `penstock.profile()`.

profile.py    what programs hold: the loader as it was, with figures; one loop over it
times.py      what all loops over it took, in nanoseconds, and copies of that
scheduling.py whether those that load were on a core
about.py      what kind of loader it is
batch.py      what one batch tells: its rows, the size of its images
verdict.py    one sentence of these figures
files.py      which files a loader reads
compare.py    what penstock delivers of the same files
steps.py      what steps took, as programs get it; schedule()
text.py       numbers for people
"""
