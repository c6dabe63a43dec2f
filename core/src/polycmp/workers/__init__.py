"""Backends in processes of their own, in this environment or another: a crash or a hang there is a result here.

The session's side is `runner`, the worker's side `child`; both send what `protocol` names over pipes and pass tensors
through `memory`. Nothing has a name in the file system, so nothing is left behind however either side ends.
"""
