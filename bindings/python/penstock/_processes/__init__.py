"""Processes of this program's own, and the memory that it shares with them.

memory.py   memory without a name, passed on by descriptor, all of it there from the start
channel.py  messages with descriptors between two processes
pool.py     a number of processes that do tasks; those that die are replaced
child.py    what such a process runs; it ends with its parent

Nothing here knows what the tasks are. Nothing has a name in the file system, so that no death leaves anything behind.
Start with pool.py.
"""
