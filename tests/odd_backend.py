"""A fake backend that does, while it runs, what its mode says; installed into a folder of the test."""

from __future__ import annotations

import textwrap
from pathlib import Path

from fakes import FakeSite, runner

SOURCE = """
    import ctypes
    import os
    import signal
    import sys
    import time

    import numpy as np

    from polycmp.runner import Runner
    from polycmp.tensors import TensorMetadata

    ODD = {
        "surrogate": "a path that is not UTF-8: \\udc80\\udcff",
        "long": "first words " + "x" * 5_000_000 + " last words",
        "escapes": "\\x1b[2J\\x9b2J\\u202e\\u2028\\x00 cleared",
        "lines": "one\\nPASSED: 1 output within tolerance\\n::stop-commands::tok",
    }

    class Signalled:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    class Odd(Runner):
        def __init__(self, mode, name):
            super().__init__(name)
            self.mode = mode

        def activate_impl(self):
            if self.mode == "chdir":
                os.mkdir("elsewhere") if not os.path.isdir("elsewhere") else None
                os.chdir("elsewhere")

        def get_input_metadata_impl(self):
            return TensorMetadata().add("x", "float32", [1, 8])

        def infer_impl(self, feed_dict):
            if self.mode == "slow":
                time.sleep(0.2)
            if self.mode == "stuck":  # in native code that no signal interrupts
                open("stuck", "w").close()
                lock = ctypes.create_string_buffer(64)
                ctypes.CDLL(None).pthread_mutex_lock(lock)
                ctypes.CDLL(None).pthread_mutex_lock(lock)
            if self.mode == "destructor":  # where Python lets no exception through
                Signalled()
                time.sleep(30)
            if self.mode in ODD:
                raise RuntimeError(ODD[self.mode])
            return {"y": np.zeros([1, 8], np.float32) if self.mode == "zeros" else feed_dict["x"]}

    def make(model, options, *, name):
        return Odd(options.mode, name)
"""


def odd_site(folder: Path, kind: type[FakeSite] = FakeSite) -> FakeSite:
    """Install the backend `odd` in a site of some kind."""
    site = kind(folder)
    site.plugin("odd", runner("odd", factory="odd_impl:make", options="O: mode: str = opt('', help='What it does.')"))
    (site.folder / "odd_impl.py").write_text(textwrap.dedent(SOURCE))
    return site
