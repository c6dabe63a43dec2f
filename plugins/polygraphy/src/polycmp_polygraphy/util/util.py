"""Small helpers under the names of `polygraphy.util`, for programs that use them besides a backend."""

from __future__ import annotations

import functools
import inspect
import logging
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path
from types import TracebackType
from typing import IO, Any

import numpy as np

from polycmp.errors import DataError
from polycmp.tensors import is_size

_LOG = logging.getLogger("polycmp.polygraphy")
Dimension = int | str | None


def default(value: Any, default: Any) -> Any:
    """Return the value, or the default where it is None."""
    return default if value is None else value


def is_nan(obj: object) -> bool:
    """Return whether an object is a float that is no number."""
    return isinstance(obj, float) and math.isnan(obj)


def is_inf(obj: object) -> bool:
    """Return whether an object is an infinite float."""
    return isinstance(obj, float) and math.isinf(obj)


def is_sequence(obj: object) -> bool:
    """Return whether an object can be iterated over and is no mapping, set or text."""
    return hasattr(obj, "__iter__") and not isinstance(obj, dict | set | str)


def unique_list(sequence: Iterable[Any]) -> list[Any]:
    """Return the elements in their order, each once."""
    return list(dict.fromkeys(sequence))


def invert_dict(dct: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a mapping from the values to the keys."""
    return {value: key for key, value in dct.items()}


def value_or_from_dict(obj: Any, key: str, default: Any = None) -> Any:
    """Return the value for a key, where values may be one for all or a mapping whose key `""` means all others."""
    return obj.get(key, obj.get("", default)) if isinstance(obj, dict) else obj


def unpack_args(args: Any, num: int) -> tuple[Any, ...]:
    """Return so many elements of a sequence, or of one object alone, with None where there are too few."""
    values = tuple(args) if is_sequence(args) else (args,)
    return (values + (None,) * num)[:num]


def invoke_if_callable(func: Any, *args: Any, **kwargs: Any) -> tuple[Any, bool]:
    """Call a function and return its result and True; return anything else as it is, and False."""
    return (func(*args, **kwargs), True) if callable(func) else (func, False)


def find_str_in_iterable(name: str, seq: Iterable[str], index: int | None = None) -> str | None:
    """Return the element of that name, else the first whose name contains it or is contained, else that at `index`."""
    elements = list(seq)
    if name in elements:
        return name
    similar = (item for item in elements if name.lower() in item.lower() or item.lower() in name.lower())
    at_index = elements[index] if index is not None and index < len(elements) else None
    return next(similar, at_index)


def check_sequence_contains(
    sequence: Iterable[Any],
    items: Iterable[Any],
    name: str | None = None,
    items_name: str | None = None,
    log_func: Callable[[str], None] | None = None,
    check_missing: bool | None = None,
    check_extra: bool | None = None,
) -> tuple[set[Any], set[Any]]:
    """Return which items a sequence lacks, and which it has besides.

    Args:
        sequence: The sequence.
        items: The items that should be in it.
        name: Words for the sequence.
        items_name: Words for the items.
        log_func: Is told of both; without one, either is an error.
        check_missing: Whether to look for what it lacks; True.
        check_extra: Whether to look for what it has besides; True.

    Raises:
        DataError: Something is missing or there is more, and `log_func` is not given.
    """
    there, wanted = list(sequence), list(items)
    missing = [item for item in wanted if item not in there] if default(check_missing, True) else []
    extra = [item for item in there if item not in wanted] if default(check_extra, True) else []
    for unequal, verb in ((missing, "lacks the"), (extra, "has further")):
        if not unequal:
            continue
        text = f"{default(name, 'the sequence')} {verb} {default(items_name, 'items')} {unequal}"
        if log_func is None:
            raise DataError(text, why=f"it has {there}, of which {wanted} are wanted")
        log_func(text)
    return set(missing), set(extra)


def contains_wildcard(target: str) -> bool:
    """Return whether a name has a character that patterns are made of."""
    return any(character in target for character in "*?[]!")


def match_keys(keys: Iterable[str], targets: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Return the pattern that fits each target, and the patterns that fit none."""
    patterns, names = list(keys), list(targets)
    matched = {name: pattern for pattern in patterns for name in names if fnmatch(name, pattern)}
    return matched, [pattern for pattern in patterns if not any(fnmatch(name, pattern) for name in names)]


def is_dimension_dynamic(dim: Dimension) -> bool:
    """Return whether a dimension is unknown: None, a name, or negative."""
    return not is_size(dim)


def num_dynamic_dimensions(shape: Iterable[Dimension]) -> int:
    """Count the unknown dimensions of a shape."""
    return sum(is_dimension_dynamic(dim) for dim in shape)


def is_shape_dynamic(shape: Iterable[Dimension]) -> bool:
    """Return whether a shape has unknown dimensions."""
    return num_dynamic_dimensions(shape) > 0


def is_valid_shape_override(new_shape: Sequence[Dimension], original_shape: Sequence[Dimension]) -> bool:
    """Return whether a shape has the other's rank and its known dimensions."""
    return len(new_shape) == len(original_shape) and all(
        is_dimension_dynamic(old) or old == new for old, new in zip(original_shape, new_shape, strict=True)
    )


def override_dynamic_shape(shape: Iterable[Dimension], default_shape_value: int | None = None) -> list[Any]:
    """Return a shape with a number, 1 by default, in place of each unknown dimension."""
    return [default(default_shape_value, 1) if is_dimension_dynamic(dim) else dim for dim in shape]


def volume(obj: Iterable[int]) -> int:
    """Return the number of elements of a shape."""
    return math.prod(obj)


def is_empty_shape(shape: Iterable[int]) -> bool:
    """Return whether a shape has no elements."""
    return volume(shape) == 0


def try_match_shape(arr: Any, shape: Sequence[Dimension]) -> Any:
    """Return an array in another shape where its elements fit: with its axes permuted if they are, else reshaped.

    Args:
        arr: A NumPy array or torch tensor.
        shape: The shape, of which one dimension may be unknown.
    """
    now = tuple(arr.shape)
    known = volume(dim for dim in shape if is_size(dim))
    rest = volume(now) // known if known else 0
    wanted = tuple(override_dynamic_shape(shape, rest))
    if now == wanted:
        return arr
    if sorted(now) == sorted(wanted):
        axes: list[int] = []
        for dim in wanted:
            axes.append(next(axis for axis, size in enumerate(now) if size == dim and axis not in axes))
        return np.transpose(arr, axes) if isinstance(arr, np.ndarray) else arr.permute(axes)
    try:
        return arr.reshape(wanted)
    except (ValueError, RuntimeError):
        _LOG.warning("an array of shape %s does not fit into %s and stays as it is", list(now), list(shape))
        return arr


def is_file_like(obj: object) -> bool:
    """Return whether an object reads and writes as an open file does."""
    return hasattr(obj, "read") and hasattr(obj, "write")


def makedirs(path: str) -> None:
    """Make the folder that a file is to lie in."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)


def get_file_size(src: Any) -> int:
    """Return the size of a file in bytes; 0 if there is none."""
    if hasattr(src, "fileno"):
        return os.fstat(src.fileno()).st_size
    return Path(src).stat().st_size if Path(src).exists() else 0


def load_file(src: Any, mode: str = "rb", description: str | None = None) -> Any:
    """Return the content of a file, by its path or open; an open one is read from the start and left where it was."""
    if description is not None:
        _LOG.info("loading %s from %s", description, src)
    if not is_file_like(src):
        with Path(src).open(mode) as file:
            return file.read()
    place = src.tell()
    if src.seekable():
        src.seek(0)
    content = src.read()
    if src.seekable():
        src.seek(place)
    return content


def save_file(contents: Any, dest: Any, mode: str = "wb", description: str | None = None) -> Any:
    """Write bytes or text to a file, by its path or open; return the path or the file."""
    if description is not None:
        _LOG.info("saving %s to %s", description, dest)
    if is_file_like(dest):
        dest.write(contents)
        dest.flush()
        return dest
    makedirs(dest)
    with Path(dest).open(mode) as file:
        file.write(contents)
    return dest


def find_in_dirs(name_glob: str, dirs: Iterable[str]) -> list[str]:
    """Return the paths that fit a pattern in the first folder that has any."""
    by_folder = ([str(path) for path in sorted(Path(folder).glob(name_glob))] for folder in dirs)
    return next((paths for paths in by_folder if paths), [])


def add_file_suffix(path: str, suffix: str) -> str:
    """Return a path with words put before its extension."""
    stem, extension = os.path.splitext(path)  # noqa: PTH122 - a path stays written as it was
    return f"{stem}{suffix}{extension}"


def sanitize_filename(path: str) -> str:
    """Return a path as the name of one file."""
    return path.replace(os.path.sep, "_")


class NamedTemporaryFile:
    """A temporary file that may be opened by its name, too; it is not removed.

    Args:
        mode: The mode in which `with` opens it; `wb+`.
        prefix: Start of its name.
        suffix: End of its name.

    Attributes:
        name: Path of the file.
    """

    def __init__(self, mode: str | None = None, prefix: str | None = None, suffix: str | None = None) -> None:
        self.mode = mode or "wb+"
        handle, self.name = tempfile.mkstemp(suffix or "", prefix)
        os.close(handle)
        self._file: IO[Any] | None = None

    def __enter__(self) -> IO[Any]:
        self._file = Path(self.name).open(self.mode)
        return self._file

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()


class LockFile:
    """Keeps other processes that ask for the same lock waiting for the length of a `with` block.

    Args:
        path: The file that is protected; the lock is a file beside it, which stays. Open files are not locked.
    """

    def __init__(self, path: Any) -> None:
        self.lock_path = None if is_file_like(path) else f"{path}.lock"
        self._file: IO[bytes] | None = None

    def __enter__(self) -> None:
        if self.lock_path is not None:
            self._file = Path(self.lock_path).open("wb+")
            _lock(self._file)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()  # which gives the lock back


def _lock(file: IO[bytes]) -> None:
    """Wait until the file is ours."""
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
            except OSError:  # ten seconds are over, which is how long it waits
                continue
            return
    else:
        import fcntl

        fcntl.lockf(file.fileno(), fcntl.LOCK_EX)


class TempAttrChange:
    """Gives attributes of an object other values for the length of a `with` block; None leaves one as it is."""

    def __init__(self, arg_group: Any, attr_values: Mapping[str, Any]) -> None:
        self._of = arg_group
        self._new = {name: value for name, value in attr_values.items() if value is not None}
        self._old: dict[str, Any] = {}

    def __enter__(self) -> None:
        for name, value in self._new.items():
            self._old[name] = getattr(self._of, name)
            setattr(self._of, name, value)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, value in self._old.items():
            setattr(self._of, name, value)


def getattr_nested(obj: Any, attr: str) -> Any:
    """Return an attribute of an attribute, by names with dots between them."""
    for name in attr.split("."):
        obj = getattr(obj, name)
    return obj


def try_getattr(obj: Any, attr: str, default: Any = None) -> Any:
    """Return an attribute, or the default if there is none."""
    return getattr(obj, attr, default)


def indent_block(block: object, level: int = 1) -> str:
    """Return a text with every line moved by four blanks for each level."""
    tab = " " * 4 * level
    return tab + f"\n{tab}".join(str(block).splitlines())


def make_repr(type_str: str, *args: Any, **kwargs: Any) -> tuple[str, bool, bool]:
    """Return the code that makes an object, keywords that are None left out, and whether all of either are None."""
    positional = [_code(value) for value in args]
    named = [f"{name}={_code(value)}" for name, value in kwargs.items() if value is not None]
    return f"{type_str}({', '.join([*positional, *named])})", all(value is None for value in args), not named


def _code(value: Any) -> str:
    """Return the code that makes a value: that of NaN and infinity, alone or in a container, is a call."""
    if is_nan(value) or is_inf(value):
        return f"float('{value}')"
    if type(value) is dict:
        return "{" + ", ".join(f"{_code(key)}: {_code(item)}" for key, item in value.items()) + "}"
    if type(value) in {list, tuple, set} and value:
        inside = ", ".join(_code(item) for item in value)
        if type(value) is tuple:
            return f"({inside}{',' * (len(value) == 1)})"
        return f"[{inside}]" if type(value) is list else f"{{{inside}}}"
    return repr(value)


def str_from_layer(
    prefix: str,
    index: int,
    name: str,
    op: Any,
    input_names: Sequence[str],
    input_meta: Mapping[str, Any],
    output_names: Sequence[str],
    output_meta: Mapping[str, Any],
) -> str:
    """Return a layer as text: its name, its kind, and what goes in and out."""
    sides = [
        indent_block("{" + ",\n ".join(f"{tensor} {meta[tensor]}".strip() for tensor in names) + "}")
        for names, meta in ((input_names, input_meta), (output_names, output_meta))
        if names
    ]
    return f"{prefix} {index:<4} | {name} [Op: {op}]\n" + "\n -> ".join(sides) + "\n"


def check_called_by(expected_caller_name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that warns where a function is called by another one than it should be."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            caller = inspect.stack(0)[1].function
            if caller != expected_caller_name:
                _LOG.warning("%s() was called by %s(): call %s()", function.__name__, caller, expected_caller_name)
            return function(*args, **kwargs)

        return called

    return decorate
