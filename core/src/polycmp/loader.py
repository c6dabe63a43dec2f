"""Loaders: small lazy objects that make a thing when called, compose, and print as the code that makes them."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar, cast

from polycmp._script import load_script
from polycmp.errors import FileError, describe_exception

__all__ = [
    "BytesFromPath",
    "InvokeFromScript",
    "Loader",
    "Recorded",
    "SaveBytes",
    "bytes_from_path",
    "exact_path",
    "immediate",
    "invoke_from_script",
    "keyword_aliases",
    "load_script",
    "resolve",
    "save_bytes",
    "to_source",
]

_T_co = TypeVar("_T_co", covariant=True)
_T = TypeVar("_T")
_P = ParamSpec("_P")


def keyword_aliases(*without_effect: str, **names: str) -> Callable[[type[_T]], type[_T]]:
    """Let a class take keywords under the names that other tools have for them, which its signature lists.

    Args:
        without_effect: Keywords that are taken and change nothing, because the class always does what they ask for.
        names: The class's own keyword, by the other name.
    """

    def decorate(cls: type[_T]) -> type[_T]:
        init = cls.__init__

        @wraps(init)
        def accepting(self: Any, *args: Any, **kwargs: Any) -> None:
            for keyword in without_effect:
                kwargs.pop(keyword, None)
            for other, argument in names.items():
                if other in kwargs:
                    if argument in kwargs:
                        raise TypeError(f"{cls.__name__}() got both {argument!r} and {other!r}, which mean the same")
                    kwargs[argument] = kwargs.pop(other)
            init(self, *args, **kwargs)

        signature = inspect.signature(init)
        others = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in (*names, *without_effect)
        ]
        parameters = sorted([*signature.parameters.values(), *others], key=lambda parameter: parameter.kind)
        setattr(accepting, "__signature__", signature.replace(parameters=parameters))  # noqa: B010 - a type checker refuses it
        setattr(cls, "__init__", accepting)  # noqa: B010 - likewise
        return cls

    return decorate


class Recorded:
    """Base of objects that can show the source code that makes them: they remember their arguments."""

    __arguments: tuple[tuple[Any, ...], dict[str, Any]] = ((), {})

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Record the arguments."""
        self = super().__new__(cls)
        self.__arguments = (args, kwargs)
        return self

    def source(self) -> str:
        """Return the source code that makes this object, arguments equal to their defaults left out."""
        args, kwargs = self.__arguments
        defaults = {
            name: parameter.default for name, parameter in inspect.signature(type(self).__init__).parameters.items()
        }
        shown = [to_source(arg) for arg in args]
        shown += [
            f"{name}={to_source(value)}"
            for name, value in kwargs.items()
            if name not in defaults or type(value) is not type(defaults[name]) or value != defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    def children(self) -> Iterator[Any]:
        """Yield the arguments this object was made with, for code that walks a tree of them."""
        args, kwargs = self.__arguments
        yield from args
        yield from kwargs.values()


class Loader(Recorded, Generic[_T_co]):
    """Base of all loaders; a subclass stores its arguments and implements `call_impl`.

    A loader holds no model and does no work until it is called; each call does the work anew. It may be pickled as
    long as its arguments can. Its `repr` is the source code that makes it.

    Attributes:
        model_kind: The kind of model that it makes, as `LoaderSpec.produces` names it; empty where that is not known.
    """

    model_kind: str = ""

    def exact_file(self) -> str | None:
        """Return the file that holds exactly what this loader makes, unchanged; None if there is none.

        Backends that read files themselves may then do so instead of calling the loader.
        """
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> _T_co:
        """Do the work and return what was made."""
        return self.call_impl(*args, **kwargs)

    def call_impl(self, *args: Any, **kwargs: Any) -> _T_co:
        """Do the work; implemented by each loader."""
        raise NotImplementedError(type(self).__name__)

    def __repr__(self) -> str:
        return self.source()


def to_source(value: Any) -> str:
    """Return Python source for a loader's argument.

    Anything whose `repr` is not source (an array, a model) is shown as a name in capitals, which cannot be mistaken
    for code that runs.
    """
    if isinstance(value, Path):
        return repr(str(value))
    if isinstance(value, Recorded):
        return value.source()
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return _container_source(value)
    if value is None or isinstance(value, (str, int, float, bool, bytes)):
        return f"float({str(value)!r})" if isinstance(value, float) and not math.isfinite(value) else repr(value)
    if hasattr(value, "__name__") and callable(value):
        return str(value.__name__)
    text = repr(value)
    return text if text.startswith(type(value).__name__ + "(") else type(value).__name__.upper()


def _container_source(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{to_source(key)}: {to_source(item)}" for key, item in value.items()) + "}"
    items = ", ".join(to_source(item) for item in value)
    if isinstance(value, tuple):
        return f"({items},)" if len(value) == 1 else f"({items})"
    if isinstance(value, list):
        return f"[{items}]"
    return f"{type(value).__name__}({'[' + items + ']' if items else ''})"


def immediate(loader: Callable[_P, Loader[_T]]) -> Callable[_P, _T]:
    """Return the immediate twin of a loader class: a function that makes the loader and calls it at once."""

    @wraps(loader, updated=())
    def twin(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        return loader(*args, **kwargs)()

    name = getattr(loader, "__name__", "loader")
    twin.__name__ = twin.__qualname__ = _snake_case(name)
    twin.__doc__ = (
        f"Immediate form of `{name}`: takes the same arguments and returns the result itself.\n\n{loader.__doc__}"
    )
    return twin


def _snake_case(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() and index else char.lower() for index, char in enumerate(name))


def exact_path(model: Any) -> str | None:
    """Return the file to give to a library that reads models itself, or None if the model has to be made first.

    A loader says itself whether a file holds exactly what it makes.
    """
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    return model.exact_file() if isinstance(model, Loader) else None


def resolve(source: Any) -> Any:
    """Call a callable and return its result; return any other object itself.

    A loader or runner that was given a callable owns the result and may free it; an object stays the caller's.
    """
    return source() if callable(source) else source


class BytesFromPath(Loader[bytes]):
    """Reads a file.

    Args:
        path: The file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = path

    def exact_file(self) -> str | None:
        """Return the file's path."""
        return str(self.path)

    def call_impl(self) -> bytes:
        """Return the file's content.

        Raises:
            FileError: It cannot be read.
        """
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise FileError(f"cannot read {self.path}", why=describe_exception(error)) from error


class SaveBytes(Loader[bytes]):
    """Writes bytes to a file, whole or not at all, and passes them on.

    Args:
        obj: Bytes, or a callable that returns them.
        path: The file to write.
    """

    def __init__(self, obj: bytes | Callable[[], bytes], path: str | Path) -> None:
        self.obj = obj
        self.path = path

    def call_impl(self) -> bytes:
        """Return the bytes after writing them.

        Raises:
            FileError: The file cannot be written.
        """
        from polycmp.files import atomic_write

        content = cast(bytes, resolve(self.obj))
        with atomic_write(self.path) as file:
            file.write(content)
        return content


class InvokeFromScript(Loader[Any]):
    """Calls a function of a user's Python file.

    Args:
        path: The file.
        name: The function in it.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        self.path = path
        self.name = name

    def call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with these arguments.

        Raises:
            DataError: The file or the function is missing, or the file fails to import.
        """
        return load_script(str(self.path), self.name)(*args, **kwargs)


bytes_from_path: Callable[..., Any] = immediate(BytesFromPath)
save_bytes: Callable[..., Any] = immediate(SaveBytes)


def invoke_from_script(path: str | Path, name: str, *args: Any, **kwargs: Any) -> Any:
    """Immediate form of `InvokeFromScript`: call function `name` of the file with the remaining arguments."""
    return InvokeFromScript(path, name)(*args, **kwargs)
