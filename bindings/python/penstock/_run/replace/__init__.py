"""`penstock run --replace`: replaces a DataLoader after a check.

replacer.py       decides for each loader, and reports it

Recognition:

places.py         lines of the program
recognize.py      reads the options of a loader
source.py         the interface of datasets
image_folder.py   ImageFolder of torchvision
originals.py      whether the program has replaced code of the libraries
transforms.py     translates its transforms

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
