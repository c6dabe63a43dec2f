"""Files of parts of a model, and backends that find their files from any folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.files import cannot_write
from polycmp.options import fields_of, split_script
from polycmp.plan import BackendPlan

if TYPE_CHECKING:
    from polycmp.loader import Loader
    from polycmp.model import Model


def write_model(model: Model, loader: Loader[Any], path: str) -> str:
    """Write a verified part of a model.

    Returns:
        A remark on what was verified; empty if nothing was.

    Raises:
        FileError: The file cannot be written.
        ModelError: Something is wrong with it that is not wrong with the model, or models of this kind cannot be
            written.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(Path(path), error) from error
    done = model.save_verified(loader, path)
    return f"{path} is verified: {', '.join(done)}" if done else ""


def absolute(text: Any) -> Any:
    """Return the absolute path of a file that is there, with the name of something in it if that was given."""
    path, name = split_script(text, "") if isinstance(text, str) else ("", "")
    if not path or not Path(path).exists():
        return text
    return f"{Path(path).absolute()}:{name}" if name else str(Path(path).absolute())


def anywhere(backend: BackendPlan) -> BackendPlan:
    """Return a backend whose files are found from every folder."""
    changed = {}
    for field in fields_of(backend.options):
        value = getattr(backend.options, field.name)
        if field.is_path and isinstance(value, (str, tuple)):
            changed[field.name] = absolute(value) if isinstance(value, str) else tuple(map(absolute, value))
    options = replace(backend.options, **changed) if changed else backend.options
    has_folder = Path(backend.python).name != backend.python
    return replace(backend, options=options, python=absolute(backend.python) if has_folder else backend.python)
