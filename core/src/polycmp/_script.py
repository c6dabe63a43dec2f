"""Import one name from a user's file, in isolation from modules of the same name."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from polycmp.errors import DataError, describe_exception, did_you_mean
from polycmp.files import located

__all__ = ["load_script"]

#: A package that answers the imports of another one names it, and a function that makes this process do so, here.
_ANSWERING = "polycmp.imports"
_loaded: dict[tuple[str, int, int], Any] = {}


def load_script(path: str, name: str) -> Any:
    """Return attribute `name` of the Python file `path`.

    The file becomes a module of its own under a name that cannot clash, so it may be called `json.py`; its folder
    is importable while it loads and for as long as it lives, after everything else. A file that did not change is
    executed once per process.

    Raises:
        DataError: The file is missing, fails to import, or has no such name.
    """
    file = located(path)
    if not file.is_file():
        raise DataError(f"no such script: {path}", hint=f"ls {Path(path).parent}")
    stat = file.stat()
    key = (str(file.resolve()), stat.st_mtime_ns, stat.st_size)
    module = _loaded.get(key)
    if module is None:
        module = _loaded[key] = _execute(file, path)
    if not hasattr(module, name):
        public = [item for item in vars(module) if not item.startswith("_")]
        raise DataError(
            f"{path} has no {name!r}", why=did_you_mean(name, public), hint=f"name it after a colon: {path}:NAME"
        )
    return getattr(module, name)


def _execute(file: Path, path: str) -> Any:
    unique = f"polycmp_script_{abs(hash(str(file.resolve()))):x}"
    spec = importlib.util.spec_from_file_location(unique, file)
    if spec is None or spec.loader is None:
        raise DataError(f"{path} is not a Python file", hint="scripts end in .py")
    module = importlib.util.module_from_spec(spec)
    folder = str(file.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last, so that a neighbour called json.py cannot hide the real one
    sys.modules[unique] = module
    try:
        try:
            spec.loader.exec_module(module)
        except ModuleNotFoundError as error:
            if not _answered(error.name or ""):
                raise
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[unique]
        if isinstance(error, KeyboardInterrupt):
            raise
        foreign = isinstance(error, ImportError) and (error.name or "").partition(".")[0] == "polygraphy"
        hint = "pip install polycmp-polygraphy, which answers that name" if foreign else f"python {path}"
        raise DataError(f"the script {path} fails to import", why=describe_exception(error), hint=hint) from error
    return module


def _answered(name: str) -> bool:
    """Return whether an installed package answers the imports of one that is missing, from now on."""
    missing = name.partition(".")[0]
    answer = next(iter(entry_points(group=_ANSWERING, name=missing)), None)
    if answer is None or missing in sys.modules:
        return False
    answer.load()()
    return True
