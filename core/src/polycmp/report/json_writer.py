"""The built-in report format: the JSON document that each command makes of what it found."""

from __future__ import annotations

from polycmp.files import write_document
from polycmp.report.face import Result


def write(result: Result, path: str) -> None:
    """Write the document, whole or not at all.

    Raises:
        FileError: The file cannot be written.
    """
    write_document(path, result.document)
