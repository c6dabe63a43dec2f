"""Files that stand for a served model: they name it, and the command line says on which server it is.

The address is not in the file, so that a file of a stranger's sends inputs nowhere.
"""

from __future__ import annotations

from pathlib import Path

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import Loader


class ServedModel(Loader[str]):
    """Reads the name of a served model: the text of a file, or in an empty one the file's own name without `.oip`.

    Args:
        path: The file.
    """

    model_kind = "oip"

    def __init__(self, path: str) -> None:
        self.path = path

    def call_impl(self) -> str:
        """Return the model's name on the server.

        Raises:
            ModelError: The file cannot be read, or holds more than a name.
        """
        path = Path(self.path)
        hint = f"echo NAME > {self.path}, and -b oip:url=http://HOST:8000"
        try:
            text = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ModelError("cannot be read", whose=self.path, why=describe_exception(error), hint=hint) from error
        if "\n" in text or "://" in text:
            why = "the server stands on the command line" if "://" in text else "it holds several lines"
            raise ModelError("does not hold the name of a served model", whose=self.path, why=why, hint=hint)
        return text or path.stem


def make_loader(source: str, options: None) -> ServedModel:
    """Return the loader of a file.

    Args:
        source: The file's path.
        options: There are none.
    """
    return ServedModel(source)
