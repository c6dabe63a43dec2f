"""`python -m polycmp` and the console script."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def main(registry: Registry | None = None) -> None:
    """Run the command line and exit with its status.

    Args:
        registry: The plugins, for programs that run several commands; by default those installed.
    """
    if registry is None:  # then the process is there for this command
        # What starting up allocates stays for good, so looking through it for garbage is wasted: a twelfth of the time
        # that a help text takes. The command turns the collector on again before it does any work.
        gc.disable()
    # Each thread of NumPy's OpenBLAS would spin for a tenth of a second at its start, on cores that backends could use.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from polycmp.terminal import open_standard_streams

    open_standard_streams()
    from polycmp.cli.main import main as run
    from polycmp.ending import abandon_threads, leave

    status = run(registry=registry)
    if registry is None:
        leave(status)
    abandon_threads(status)
    sys.exit(status)


if __name__ == "__main__":
    # `python -m` puts the current folder first, and a downloaded model may have a `numpy.py` beside it. Who wants
    # modules from there says so with PYTHONPATH.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        del sys.path[0]
    main()
