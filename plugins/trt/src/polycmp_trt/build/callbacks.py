"""Python code that TensorRT calls while it builds: its errors must not be lost inside TensorRT.

An exception cannot pass through TensorRT's own code. Each callback is guarded: it keeps the first error, gives
TensorRT a harmless answer, and the caller of the build raises the error when TensorRT returns.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from polycmp.errors import describe_exception

if TYPE_CHECKING:
    import tensorrt as trt

__all__ = ["guarded", "raise_callback_errors", "remember_errors"]

_LOG = logging.getLogger("polycmp.trt")
F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)


def remember_errors(cls: C) -> C:
    """Add an attribute for the first error, and `raise_error()`, to a class whose methods are `guarded`."""

    def raise_error(self: Any) -> None:
        """Raise the first error of a callback, if there was one, and forget it."""
        error, self.error = self.error, None
        if error is not None:
            raise error

    cls.error = None  # type: ignore[attr-defined]
    cls.raise_error = raise_error  # type: ignore[attr-defined]
    return cls


def guarded(default: Any) -> Callable[[F], F]:
    """Make a method keep its exception as `self.error` and return `default`, also in all later calls.

    Args:
        default: Value returned to TensorRT in place of an answer.
    """

    def decorate(method: Any) -> Any:
        @wraps(method)
        def wrapper(self: Any, *args: Any) -> Any:
            if self.error is not None:
                return default
            try:
                return method(self, *args)
            except BaseException as error:  # noqa: BLE001  (nothing at all may get into TensorRT's code)
                self.error = error
                _LOG.error("%s failed: %s", method.__qualname__.rpartition(".")[2], describe_exception(error))
                return default

        return wrapper

    return decorate


def raise_callback_errors(config: trt.IBuilderConfig) -> None:
    """Raise the error of a calibrator or algorithm selector of a configuration, if one failed during the build.

    To be called when a build is over, whether TensorRT considers it successful or not.

    Args:
        config: The `tensorrt.IBuilderConfig` of the build.
    """
    for attribute in ("int8_calibrator", "algorithm_selector", "progress_monitor"):
        raise_error = getattr(getattr(config, attribute, None), "raise_error", None)
        if raise_error is not None:
            raise_error()
