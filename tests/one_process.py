"""A process for many models of an engine, one after the other: starting it takes longer than most of them."""

from __future__ import annotations

from polycmp.process import ChildProcess


class OneProcess:
    """What a runner is given as the process of its own; it is kept for the next one.

    Args:
        module: The module of the process.
    """

    def __init__(self, module):
        self.module = module
        self.child = None

    def send(self, message):
        self.child = self.child or ChildProcess(self.module)
        self.child.send(message)

    def receive(self):
        return self.child.receive()

    def ending(self):
        ending = self.child.ending()
        self.end()
        return ending

    def kill(self):
        pass

    def close(self):
        pass

    def end(self):
        child, self.child = self.child, None
        if child is not None:
            child.close()
