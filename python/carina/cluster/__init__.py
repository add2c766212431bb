"""Divides the work of a command of `carina` among the workers of a Dask cluster. docs/guide/cluster.md describes its use.

    __main__.py   the commands that have --scheduler
    command.py    steps that they have in common
    sweep.py      combinations of models, NPUs, memory modes and quantizations
    accuracy.py   samples of a data set
    sharing.py    the main loop: submits parts, collects lines, submits failed items again
    parts.py      divides items into parts
    faults.py     causes of failures, and the number of attempts
    workers.py    checks which workers can be used
    plugin.py     sends files and code to workers
    on_worker.py  the code that runs on workers
    state.py      writes results to disk
    progress.py   shows the progress
    connect.py    scheduler, TLS, the command on this machine
    calls.py      calls that wait for workers

Workers need Dask and the command. They need no Python package of Carina.
"""
