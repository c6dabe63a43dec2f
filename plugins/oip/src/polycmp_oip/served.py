"""Files that stand for a served model: their text is its address."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from polycmp.errors import ModelError, describe_exception
from polycmp.loader import Loader
from polycmp.spec import LoaderTools
from polycmp_oip.address import Address, parse_address


class ServedModel(Loader[Address]):
    """Reads the address of a served model: the first line of a text file that is neither empty nor begins with `#`.

    Args:
        path: The file.
    """

    model_kind = "oip"

    def __init__(self, path: str) -> None:
        self.path = path

    def call_impl(self) -> Address:
        """Return the address.

        Raises:
            ModelError: The file cannot be read, or holds no address.
        """
        hint = f"echo http://host:8000/v2/models/NAME > {self.path}"
        try:
            lines = [line.strip() for line in Path(self.path).read_text(encoding="utf-8").splitlines()]
            return parse_address(next((line for line in lines if line and not line.startswith("#")), ""))
        except (OSError, ValueError) as error:
            why = describe_exception(error) if isinstance(error, (OSError, UnicodeError)) else str(error)
            raise ModelError("holds no address of a served model", whose=self.path, why=why, hint=hint) from None


class ServedTools(LoaderTools):
    """What the server says of a served model."""

    def inspect(self, loader: Loader[Address], show: Iterable[str]) -> str:
        """Return server, inputs and outputs as text."""
        from polycmp_oip.runner import OipRunner

        with OipRunner(loader, loader().title) as runner:
            described = runner.description
            lines = [f"{runner.name} at {loader().server}, {runner.backend_version or 'a server that gives no name'}"]
            for role, tensors in (("inputs", described.inputs), ("outputs", described.outputs)):
                lines += [f"{role}:", *(f"  {name}: {entry}" for name, entry in tensors.items())]
        return "\n".join(lines)


def make_loader(source: str, options: None) -> ServedModel:
    """Return the loader of a file.

    Args:
        source: The file's path.
        options: There are none.
    """
    return ServedModel(source)
