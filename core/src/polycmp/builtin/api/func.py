"""Functions that extend or invoke loaders."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any

from polycmp.errors import InvalidValueError
from polycmp.loader import resolve

__all__ = ["extend", "invoke"]

_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def extend(extend_func: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Turn a function into a loader that runs another loader first and then works on what it made.

    The decorated function receives what the loader returns, a tuple as separate arguments. One with more parameters
    than that receives the arguments of the call before them; one without parameters is called with nothing. What it
    returns replaces the loader's result; if it returns None, the loader's result is passed on.

    Args:
        extend_func: The loader to extend, or any callable.

    Raises:
        InvalidValueError: When defined: the function takes any number of arguments, so that it is unknown what it
            wants. When called: it has neither as many parameters as the loader returns values, nor as many more as the
            call has arguments.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        parameters = _parameters(function)

        @wraps(function)
        def extended(*args: Any, **kwargs: Any) -> Any:
            loaded = extend_func(*args, **kwargs)
            values = loaded if isinstance(loaded, tuple) else (loaded,)
            if not parameters and loaded is None:
                result = function()
            elif len(parameters) == len(values):
                result = function(*values)
            elif len(parameters) == len(values) + len(args) + len(kwargs):
                result = function(*args, **kwargs, **dict(zip(parameters[-len(values) :], values, strict=True)))
            else:
                raise _does_not_fit(function, parameters, extend_func, values)
            return loaded if result is None else result

        return extended

    return decorate


def _parameters(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters
    for parameter in parameters.values():
        if parameter.kind in _ANY_NUMBER:
            raise InvalidValueError(
                f"{_name(function)}() takes any number of arguments ({parameter}), so it cannot extend a loader",
                hint="name its parameters: what the loader returns, and before that its arguments if wanted",
            )
    return list(parameters)


def _does_not_fit(
    function: Callable[..., Any], parameters: list[str], loader: Callable[..., Any], values: tuple[Any, ...]
) -> InvalidValueError:
    kinds = ", ".join(type(value).__name__ for value in values)
    return InvalidValueError(
        f"{_name(function)}() has {len(parameters)} parameters, but {_name(loader)} returns {len(values)} ({kinds})",
        hint="take one parameter for each value, after all arguments of the call if these are wanted",
    )


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def invoke(loader: Any) -> Any:
    """Call a loader and return its result; anything that is not callable is returned as it is."""
    return resolve(loader)
