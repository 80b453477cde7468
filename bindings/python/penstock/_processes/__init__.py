"""Processes that this program starts, and the memory that it shares with them.

memory.py   memory without a name, passed on by descriptor and reserved from the start
channel.py  messages with descriptors between two processes
pool.py     a number of processes that run tasks; dead ones are replaced
packers.py  ways to pickle an object for another process
child.py    the main program of such a process; it ends with its parent

Nothing here depends on the content of the tasks. Nothing has a name in the file system, so a process that dies leaves
nothing behind. Start with pool.py.
"""
