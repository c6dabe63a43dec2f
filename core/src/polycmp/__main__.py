"""`python -m polycmp` and the console script."""

from __future__ import annotations

import gc
import sys


def main() -> None:
    """Run the command line and exit with its status."""
    # What starting up allocates stays for good, so looking through it for garbage is wasted: a twelfth of the time that
    # a help text takes. Commands turn the collector on again before they do any work.
    gc.disable()
    from polycmp.cli.main import main as run
    from polycmp.ending import abandon_threads

    status = run()
    abandon_threads(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
