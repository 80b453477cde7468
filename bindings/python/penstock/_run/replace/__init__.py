"""`penstock run --replace`: replaces a DataLoader after a check.

replacer.py       decides for each loader, and reports it

Recognition:

places.py         lines of the program
recognize.py      reads the options of a loader
presets.py        looks into a class that applies transforms
seeding.py        looks into a worker_init_fn
transforms.py     translates its transforms

The libraries:

originals.py      whether the program has replaced code of the libraries

Its dataset:

source.py         the interface
image_folder.py   ImageFolder of torchvision
hugging_face.py   datasets of Hugging Face
functions.py      the statements of their functions
definitions.py    the source of a function

The check:

check.py          compares a sample of the data
distributions.py  compares random transforms
rates.py          measures both loaders
randomness.py     seeds the random generators

The replacement:

iterator.py       delivers batches in torch's order
batches.py        decodes a batch
files.py          headers of image files
draws.py          repeats the draws of torch's transforms
threads.py        a small thread pool
"""
