"""Headers whose values come from variables and files, and which nothing that is shown may repeat."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from polycmp.errors import DataError, describe_exception

if TYPE_CHECKING:
    from polycmp_oip.plugin import Options

#: Parts of a value that are shorter than this may stand in any text.
_SHORTEST = 4


class Credentials:
    """Headers of every request; their values show neither in `repr` nor in the texts that went through `hide`."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._headers = dict(headers)
        parts = {part for value in headers.values() for part in (value, *value.split()) if len(part) >= _SHORTEST}
        quoted = {json.dumps(part)[1:-1] for part in parts} | {repr(part)[1:-1] for part in parts}
        self._secrets = sorted(parts | quoted, key=len, reverse=True)

    @property
    def headers(self) -> dict[str, str]:
        """The headers with their values, for the request alone."""
        return dict(self._headers)

    def hide(self, text: str) -> str:
        """Return a text of the server's or of a library's without the values that it may repeat."""
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def read_credentials(options: Options, whose: str) -> Credentials:
    """Return the headers that options name, read now.

    Args:
        options: The backend's options.
        whose: The backend's label, for errors.

    Raises:
        DataError: A variable is not set, a file cannot be read, or a value is no value of a header.
    """
    headers: dict[str, str] = {}
    for name, variable in options.header_env.items():
        if variable not in os.environ:
            raise DataError(
                f"the environment variable {variable} is not set",
                whose=whose,
                why=f"header_env takes the header {name} from it",
                hint=f"export {variable}=…",
            )
        headers[name] = _checked(name, os.environ[variable], whose, f"the environment variable {variable}")
    for name, path in options.header_file.items():
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = describe_exception(error) if isinstance(error, OSError) else "it is no text in UTF-8"
            raise DataError(
                f"the header {name} cannot be read from {path}", whose=whose, why=why, hint=f"ls -l {path}"
            ) from None
        headers[name] = _checked(name, text, whose, f"the file {path}")
    return Credentials(headers)


def _checked(name: str, value: str, whose: str, source: str) -> str:
    text = value.strip()
    if not text or not text.isprintable() or not text.isascii():
        why = "it is empty" if not text else "a header is one line of ASCII"
        raise DataError(f"{source} holds no value of the header {name}", whose=whose, why=why)
    return text
