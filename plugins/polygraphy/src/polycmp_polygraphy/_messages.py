"""Messages as Polygraphy shows them where nobody asks for others: from INFO on, on standard output."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO, cast

from polycmp.messages import ROOT, StderrHandler


class _StandardOutput:
    """Standard output as it is when something is written, since programs redirect it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)


def show_messages() -> None:
    """Show messages in this process, unless somebody has arranged for them: a command, or the program."""
    logger = logging.getLogger(ROOT)
    if not logger.hasHandlers():
        logger.setLevel(logging.INFO)
        logger.addHandler(StderrHandler(stream=cast(TextIO, _StandardOutput())))
