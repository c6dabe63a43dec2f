"""Backends in processes of their own, in this environment or another: a crash or a hang there is a result here.

The side of the run is `runner`, that of the worker `child`; `forked` has a runner that exists already in a copy of this
process. Both sides send lines of JSON over pipes and pass tensors through `memory`. Nothing has a name in the
file system, so nothing remains however either side ends.
"""
