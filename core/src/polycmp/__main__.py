"""`python -m polycmp` and the console script."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polycmp.plugins import Registry


def main(registry: Registry | None = None) -> None:
    """Run the command line and exit with its status.

    Args:
        registry: The plugins, for programs that run several commands; by default those installed.
    """
    from polycmp.terminal import open_standard_streams

    open_standard_streams()
    status = _run(registry) if registry is not None or _only_tells(sys.argv[1:]) else _supervised()
    from polycmp._shutdown import abandon_threads

    abandon_threads(status)
    sys.exit(status)


def _run(registry: Registry | None = None) -> int:
    from polycmp.cli.main import run

    return run(registry=registry)


def _supervised() -> int:
    from polycmp._supervisor import supervised

    return supervised(_run, sys.argv[1:])


def _only_tells(words: list[str]) -> bool:
    """Return whether a command line asks for nothing but a text, in which no backend takes part."""
    return not words or words[0].startswith("-") or not {"-h", "--help"}.isdisjoint(words)


def _is_started_by_code() -> bool:
    """Return whether the interpreter runs `polycmp.process.module_words`, which have taken that folder away."""
    return next((word for word in sys.orig_argv[1:] if word in {"-c", "-m"}), "") == "-c"


if __name__ == "__main__":
    # `python -m` puts the current folder first, and a downloaded model may have a `numpy.py` beside it. PYTHONPATH
    # adds the folder for those who need modules from there.
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False) or _is_started_by_code()):
        del sys.path[0]
    main()
