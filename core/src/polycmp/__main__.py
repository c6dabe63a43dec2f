"""`python -m polycmp` and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line and exit with its status."""
    from polycmp.cli.main import main as run

    sys.exit(run())


if __name__ == "__main__":
    main()
