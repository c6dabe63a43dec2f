"""The runner: one backend with one model, from activation to deactivation."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any

from polycmp._arrays import as_torch, checked_outputs, is_torch, read_only, refuses_to_write
from polycmp._cores import all_cores, sharing_cores, usable_cores
from polycmp._overflow import overflow_remark
from polycmp.errors import BackendError, describe_exception
from polycmp.files import same_folder
from polycmp.loader import Recorded
from polycmp.tensors import Feed, TensorMetadata, check_feed

__all__ = [
    "Runner",
    "all_cores",
    "infer",
    "input_metadata",
    "overflow_remark",
    "sharing_cores",
    "usable_cores",
    "version_of",
]


class Runner(Recorded):
    """Base of all runners.

    A subclass implements `activate_impl`, `get_input_metadata_impl`, `infer_impl` and `deactivate_impl`; code that uses
    it calls `activate`, `infer`, `deactivate`, or `with`. Nothing heavy is loaded or allocated before activation.

    The runner owns what `infer` returns and may overwrite it in its next `infer`: copy to keep. It must not write to
    its inputs, which are read-only where a session runs it. Calls come from one thread at a time.

    Args:
        name: The label in reports; by default the prefix, the default name of the class, or its name.
        prefix: The label where there is no name; runners of one label are told apart when they run together.

    Attributes:
        name: The label in reports.
        is_active: Whether `activate` succeeded and `deactivate` has not been called.
        backend_version: Version of the library underneath, if the runner knows it once it is active.
        notes: Remarks for the reader of the report, in words: a fallback, a setting that had no effect.
        default_name: Set by a class whose runners have another label than its name.
        outputs_stay_valid: Set by a class whose `infer` returns arrays that outlive later calls and deactivation, so
            that no copy is needed.
    """

    default_name = ""
    outputs_stay_valid = False

    def __init__(self, name: str | None = "", prefix: str | None = None) -> None:
        self.name: str = name or prefix or self.default_name or type(self).__name__
        self.is_active: bool = False
        self.inference_time: float | None = None
        self.notes: list[str] = []
        self.backend_version = ""
        self.__measured: float | None = None
        self.__inputs: TensorMetadata | None = None

    def activate_impl(self) -> None:
        """Load and allocate; on failure free what was taken, and raise."""

    def get_input_metadata_impl(self) -> TensorMetadata:
        """Return names, element types and shapes of the inputs, unknown dimensions as names or -1."""
        raise NotImplementedError(type(self).__name__)

    def infer_impl(self, feed_dict: dict[str, Any]) -> dict[str, Any]:
        """Return output arrays by name for one feed; may set `self.inference_time` in seconds if it knows better.

        A sequence is a list of arrays, a map a mapping from keys to them: they are compared by element and by key. An
        optional output that is empty is left out.
        """
        raise NotImplementedError(type(self).__name__)

    def deactivate_impl(self) -> None:
        """Free everything that `activate_impl` took."""

    def activate(self) -> Runner:
        """Get ready for inference.

        Raises:
            BackendError: It is active already.
        """
        if self.is_active:
            raise BackendError("is active already", whose=self.name, hint="call deactivate() first")
        self.__inputs = None
        self.inference_time = self.__measured = None
        with same_folder(self.name):
            self.activate_impl()
        self.is_active = True
        return self

    def deactivate(self) -> None:
        """Free everything; does nothing if the runner is not active."""
        if self.is_active:
            self.is_active = False
            self.__inputs = None
            with same_folder(self.name):
                self.deactivate_impl()

    def __enter__(self) -> Any:
        return self.activate()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.deactivate()

    def get_input_metadata(self, use_numpy_dtypes: bool | None = None) -> TensorMetadata:
        """Return names, element types and shapes of the inputs.

        Args:
            use_numpy_dtypes: Accepted for programs written for other tools; types are always NumPy's.

        Raises:
            BackendError: The runner is not active.
        """
        self._require_active("get_input_metadata()")
        if self.__inputs is None:
            self.__inputs = self.get_input_metadata_impl()
        return self.__inputs

    def forget_inputs(self) -> None:
        """Have `get_input_metadata` look again, after something has changed what the model takes."""
        self.__inputs = None

    def infer(self, feed_dict: Feed, check_inputs: bool = True, **kwargs: Any) -> dict[str, Any]:
        """Run the model once.

        Args:
            feed_dict: One array per input, of the declared element type and a shape that fits.
            check_inputs: Check names, types and shapes first.
            kwargs: Further keyword arguments of the backend's `infer_impl`.

        Returns:
            Output arrays by name, valid until the next call: torch tensors if an input is one, else NumPy's.

        Raises:
            BackendError: The runner is not active.
            DataError: The feed does not fit the model.
        """
        self._require_active("infer()")
        if check_inputs:
            check_feed(feed_dict, self.get_input_metadata())
        self.inference_time = None
        with same_folder(self.name):
            start = time.perf_counter()
            outputs = self.infer_impl(dict(feed_dict), **kwargs)
            self.__measured = time.perf_counter() - start
        if not isinstance(outputs, Mapping):
            raise BackendError(f"infer_impl returned {type(outputs).__name__} instead of a dict", whose=self.name)
        outputs_by_name = dict(outputs)
        if any(is_torch(value) for value in feed_dict.values()):
            return {name: as_torch(array) for name, array in outputs_by_name.items()}
        return outputs_by_name

    def last_inference_time(self) -> float:
        """Return the duration of the last `infer` in seconds: the backend's own figure if it gave one.

        Raises:
            BackendError: There was no `infer` since activation.
        """
        seconds = self.inference_time if self.inference_time is not None else self.__measured
        if seconds is None:
            raise BackendError("has not run yet", whose=self.name, hint="call infer() first")
        return seconds

    def _require_active(self, call: str) -> None:
        if not self.is_active:
            raise BackendError(
                f"{call} needs an active runner", whose=self.name, hint="use `with runner:` or call activate() first"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, {'active' if self.is_active else 'inactive'})"


def infer(runner: Runner, feed: Feed, *, check_inputs: bool = False) -> dict[str, Any]:
    """Run a model once on inputs that the runner can only read.

    Args:
        runner: An active runner.
        feed: Arrays that fit the model.
        check_inputs: Whether the runner is to check that they do.

    Returns:
        Plain arrays by output name, valid until the next call.

    Raises:
        BackendError: The runner writes into its inputs, or returns something other than arrays by name.
    """
    read_only_feed = {name: read_only(array) for name, array in feed.items()}
    try:
        outputs = runner.infer(read_only_feed, check_inputs=check_inputs)
    except ValueError as error:
        if not refuses_to_write(error):
            raise
        raise BackendError(
            "writes into its inputs, which belong to all backends",
            whose=runner.name,
            why=describe_exception(error),
            hint="the backend's infer_impl() has to copy what it changes",
        ) from error
    return checked_outputs(outputs, runner.name)


def input_metadata(runner: Runner) -> TensorMetadata:
    """Return names, types and shapes of a runner's inputs.

    Args:
        runner: An active runner.

    Raises:
        BackendError: It returns something else.
    """
    inputs: Any = runner.get_input_metadata()
    if not isinstance(inputs, TensorMetadata):
        raise BackendError(
            f"describes its inputs by {type(inputs).__name__} instead of TensorMetadata",
            whose=runner.name,
            hint="get_input_metadata_impl() has to return TensorMetadata().add(name, dtype, shape)",
        )
    return inputs


def version_of(runner: Runner, needs: Iterable[str]) -> str:
    """Return the version of the library under an active runner; empty where neither it nor a module tells one.

    Args:
        runner: The runner.
        needs: The modules that it needs; of the first that is imported and has one it is the version.
    """
    versions = (getattr(sys.modules.get(name), "__version__", "") for name in needs)
    return str(runner.backend_version or next(filter(None, versions), ""))
