"""Decorators of exported names under the names of `polygraphy.mod`."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from polycmp.loader import Loader

T = TypeVar("T")


def export(funcify: bool = False, func_name: str | None = None) -> Callable[[T], T]:
    """Return a decorator that puts a name into its module's `__all__`.

    Args:
        funcify: Whether to define, for a loader, the function that makes one and calls it, too. It takes the
            parameters of `__init__` and those of `call_impl`, in this order, and those with defaults behind the others.
        func_name: Name of that function; by default the class's in small letters.
    """

    def decorate(named: T) -> T:
        cls: Any = named
        module = sys.modules[cls.__module__]
        _add_to_all(module, cls.__name__)
        if funcify:
            function = _function_of(cls)
            function.__name__ = function.__qualname__ = func_name or _snake_case(cls.__name__)
            if hasattr(module, function.__name__):
                raise AssertionError(f"{function.__name__}: this symbol is already defined in {module.__name__}")
            setattr(module, function.__name__, function)
            _add_to_all(module, function.__name__)
        return named

    return decorate


def _add_to_all(module: Any, name: str) -> None:
    vars(module).setdefault("__all__", []).append(name)


def _snake_case(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")


def _function_of(cls: Any) -> Callable[..., Any]:
    """Return the function that makes a loader and calls it.

    Raises:
        AssertionError: The class is no loader, or both of its methods have a parameter of one name.
    """
    if not inspect.isclass(cls):
        raise AssertionError(f"{cls.__name__} must be a loader for funcify=True")
    if not issubclass(cls, Loader):
        raise AssertionError(f"{cls.__name__} must derive from BaseLoader for funcify=True")
    ours, call = (list(inspect.signature(method).parameters.values())[1:] for method in (cls.__init__, cls.call_impl))
    if {one.name for one in ours} & {one.name for one in call}:
        raise AssertionError(f"{cls.__name__}: call_impl and __init__ have the same argument names")
    order = sorted([*ours, *call], key=lambda one: (one.kind, one.default is not one.empty))
    signature = inspect.Signature(order)

    @functools.wraps(cls, updated=())
    def function(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        init, called = (_passed(parameters, given.arguments) for parameters in (ours, call))
        return cls(*init[0], **init[1])(*called[0], **called[1])

    function.__doc__ = f"Immediately evaluated functional variant of :class:`{cls.__name__}` .\n"
    vars(function)["__signature__"] = signature
    return function


def _passed(parameters: list[inspect.Parameter], arguments: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of one of the two methods, by position and by name."""
    by_position: list[Any] = []
    by_name: dict[str, Any] = {}
    for one in parameters:
        value = arguments[one.name]
        if one.kind is one.VAR_POSITIONAL:
            by_position.extend(value)
        elif one.kind is one.VAR_KEYWORD:
            by_name.update(value)
        elif one.kind is one.KEYWORD_ONLY:
            by_name[one.name] = value
        else:
            by_position.append(value)
    return by_position, by_name


def warn_deprecated(
    name: str,
    use_instead: str | None,
    remove_in: str,
    module_name: str | None = None,
    always_show_warning: bool = False,
) -> None:
    """Warn that a name goes away."""
    del module_name, always_show_warning
    instead = f"; use {use_instead} instead" if use_instead else ""
    warnings.warn(f"{name} is deprecated and goes away in {remove_in}{instead}", DeprecationWarning, stacklevel=3)
