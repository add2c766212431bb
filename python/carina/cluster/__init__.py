"""Work of the command `carina`, shared among the workers of a Dask cluster. docs/guide/cluster.md says how to use it.

    __main__.py   the commands that have --scheduler
    command.py    what they have in common
    sweep.py      combinations of models, NPUs, memory modes and quantizations
    accuracy.py   samples of a data set
    sharing.py    the loop: which items a task gets, and what becomes of those that come back without a line
    parts.py      how items are divided
    faults.py     who is at fault, and how often something is tried
    workers.py    which workers take part
    plugin.py     how files and code get to workers
    on_worker.py  what runs there
    state.py      what is kept
    progress.py   what is seen
    connect.py    scheduler, TLS, the command on this machine

Workers need Dask and the command, and no Python package of Carina.
"""
