"""Run a backend over the one-node models of the installed `onnx` package.

A backend keeps a list of the cases it refuses or computes differently, each with a reason. The list is strict: a case
that fails without being listed fails the test, and so does a listed case that starts to pass. Which versions the list
is exact for stands in the list; with others only what must always hold is checked.

A list looks like this::

    exact for: onnx==1.23.2 onnxruntime==1.31.1

    [notyet] ONNX Runtime has no kernel for this type
    test_identity_uint4
    test_identity_int4

    [depends] random numbers
    test_bernoulli

The kinds are `notimpl` (this plugin could), `notyet` (the library underneath could), `never`, and `depends` for cases
that fail on some machines or in some runs only: those are not held to anything.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from polycmp.errors import PolycmpError, describe_exception, is_users_failure
from polycmp.runner import Runner
from polycmp.tensors import as_dtype, dtype_name, to_numpy
from polycmp.testing.contract import Contract
from polycmp.testing.runners import assert_close

_KINDS = ("notimpl", "notyet", "never", "depends")


@dataclass(frozen=True)
class NodeCase:
    """One model with one node, what it is fed, and what it must give.

    Attributes:
        name: Name of the case in the `onnx` package.
        model: An `onnx.ModelProto`.
        feed: Arrays by input.
        expected: Arrays by output.
        rtol: Relative tolerance.
        atol: Absolute tolerance.
    """

    name: str
    model: Any
    feed: Mapping[str, Any]
    expected: Mapping[str, Any]
    rtol: float
    atol: float


@dataclass(frozen=True)
class Failure:
    """Reason why a case did not pass.

    Attributes:
        reason: In words.
        in_words: Whether it is a refusal with an error of polycmp's, or wrong numbers; not a raw exception.
        is_wrong: Whether there were outputs, which are not those of the case; else it was refused.
    """

    reason: str
    in_words: bool
    is_wrong: bool = False


@dataclass(frozen=True)
class Refusals:
    """A committed list of cases that fail.

    Attributes:
        exact_for: Versions of packages for which the list is complete.
        reasons: Kind and reason by name of the case.
    """

    exact_for: Mapping[str, str]
    reasons: Mapping[str, str]

    def other_versions(self) -> list[str]:
        """Return the installed versions that differ from those of the list, as text."""
        return [
            f"{package} {_installed(package)} instead of {wanted}"
            for package, wanted in self.exact_for.items()
            if _installed(package) != wanted
        ]


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def read_refusals(path: str | Path) -> Refusals:
    """Return a list of refusals.

    Raises:
        ValueError: The file breaks the format, or names a case twice.
    """
    exact: dict[str, str] = {}
    reasons: dict[str, str] = {}
    reason = ""
    for number, raw in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
        line = raw.partition("#")[0].strip()
        if line.startswith("exact for:"):
            exact.update(re.findall(r"(\S+)==(\S+)", line))
        elif line.startswith("["):
            kind, _, text = line[1:].partition("]")
            if kind not in _KINDS or not text.strip():
                raise ValueError(f"{path}:{number}: write [{'|'.join(_KINDS)}] and a reason, not {line!r}")
            reason = f"{kind}: {text.strip()}"
        elif line:
            if not reason or line in reasons:
                raise ValueError(f"{path}:{number}: {line} has no reason above it, or is listed twice")
            reasons[line] = reason
    return Refusals(exact, reasons)


def format_failures(failures: Mapping[str, Failure]) -> str:
    """Return failures in the format of a list, grouped by reason, to be looked at and given a kind each."""
    by_reason: dict[str, list[str]] = {}
    for name, failure in failures.items():
        by_reason.setdefault(failure.reason, []).append(name)
    return "\n\n".join(f"[?] {reason}\n" + "\n".join(names) for reason, names in by_reason.items())


@lru_cache(maxsize=1)
def node_cases() -> tuple[NodeCase, ...]:
    """Return all cases of the installed `onnx` package with one node and nothing but tensors going in and out."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package computes its expected outputs with overflows on purpose
        tests = load_model_tests(kind="node")
    cases = (_case(test) for test in tests)
    return tuple(sorted((case for case in cases if case is not None), key=lambda case: case.name))


def _case(test: Any) -> NodeCase | None:
    import onnx

    model = test.model if test.model is not None else onnx.load(str(Path(test.model_dir) / "model.onnx"))
    values = [*model.graph.input, *model.graph.output]
    if len(model.graph.node) != 1 or not all(value.type.HasField("tensor_type") for value in values):
        return None
    inputs, outputs = test.data_sets[0] if test.data_sets else _on_disk(Path(test.model_dir) / "test_data_set_0")
    feed = {value.name: _plain(array) for value, array in zip(model.graph.input, inputs, strict=False)}
    expected = {value.name: _plain(array) for value, array in zip(model.graph.output, outputs, strict=False)}
    if not all(isinstance(array, (np.ndarray, np.generic)) for array in (*feed.values(), *expected.values())):
        return None
    return NodeCase(test.name, model, _arrays(feed), _arrays(expected), float(test.rtol), float(test.atol))


def _arrays(values: Mapping[str, Any]) -> dict[str, Any]:
    arrays = {name: np.asarray(value) for name, value in values.items()}
    return {name: array.astype(object) if array.dtype.kind in "US" else array for name, array in arrays.items()}


def _on_disk(folder: Path) -> tuple[list[Any], list[Any]]:
    """Return inputs and outputs of a case as older versions of the package keep them."""
    import onnx

    def tensors(kind: str) -> list[Any]:
        ordered = sorted(folder.glob(f"{kind}_*.pb"), key=lambda file: int(file.stem.rpartition("_")[2]))
        return [onnx.load_tensor(str(file)) for file in ordered]

    return tensors("input"), tensors("output")


def _plain(value: Any) -> Any:
    if not hasattr(value, "data_type"):
        return value
    from onnx import numpy_helper

    return numpy_helper.to_array(value)


class NodeCorpus(Contract):
    """All cases against one backend, with its list of refusals.

    Attributes:
        refusals: The file with the list; None for a backend that refuses nothing.
    """

    refusals: ClassVar[str | Path | None] = None

    def make_runner(self, model: Any) -> Runner:
        """Return a new, inactive runner for an `onnx.ModelProto`."""
        raise NotImplementedError

    def cases(self) -> Iterable[NodeCase]:
        """Return the cases to run: all of them."""
        return node_cases()

    @pytest.fixture(scope="class")
    def failures(self) -> dict[str, Failure]:
        """All cases that failed, each with its reason; every case runs once for the whole class."""
        tried = ((case.name, self.try_case(case)) for case in self.cases())
        return {name: failure for name, failure in tried if failure is not None}

    @pytest.fixture(scope="class")
    def listed(self) -> Refusals:
        """The committed list."""
        return Refusals({}, {}) if self.refusals is None else read_refusals(self.refusals)

    def try_case(self, case: NodeCase) -> Failure | None:
        """Run one case; return why it failed, or None."""
        try:
            with self.make_runner(case.model) as runner:
                outputs = runner.infer(case.feed, check_inputs=False)
                _check(outputs, case)
        except PolycmpError as error:
            return Failure(" ".join(describe_exception(error).split()), in_words=True)
        except AssertionError as error:
            return Failure(" ".join(str(error).split())[:160], in_words=True, is_wrong=True)
        except BaseException as error:  # any exception that a backend lets through is what this is looking for
            if not is_users_failure(error):
                raise
            return Failure(describe_exception(error), in_words=False)
        return None

    def test_there_are_cases(self) -> None:
        """Require that the installed `onnx` brings its cases, so that the other tests are not empty."""
        assert sum(1 for _ in self.cases()) > 1000

    def test_a_refusal_is_an_error_in_words(self, failures: dict[str, Failure]) -> None:
        """Require a `PolycmpError` for each model that the backend refuses, never the library's own exception."""
        raw = {name: failure for name, failure in failures.items() if not failure.in_words}
        assert not raw, "exceptions that are not polycmp's own:\n" + format_failures(raw)

    def test_no_case_fails_without_being_listed(self, failures: dict[str, Failure], listed: Refusals) -> None:
        """Require that every case that fails is in the file `refusals`, with the reason."""
        self._require_exact_versions(listed)
        unlisted = {name: failure for name, failure in failures.items() if name not in listed.reasons}
        assert not unlisted, f"fail and are not in {self.refusals}:\n{format_failures(unlisted)}"

    def test_no_listed_case_passes(self, failures: dict[str, Failure], listed: Refusals) -> None:
        """Require that what passes, or is gone, leaves the file `refusals`."""
        self._require_exact_versions(listed)
        strict = (name for name, reason in listed.reasons.items() if not reason.startswith("depends"))
        passing = [name for name in strict if name not in failures]
        assert not passing, f"pass, or do not exist, and are still in {self.refusals}: {passing}"

    def _require_exact_versions(self, listed: Refusals) -> None:
        others = listed.other_versions()
        if others:
            pytest.skip(f"the list is exact for other versions: {', '.join(others)}")


def _check(outputs: Mapping[str, Any], case: NodeCase) -> None:
    assert set(outputs) == set(case.expected), f"outputs are {sorted(outputs)}, not {sorted(case.expected)}"
    for name, wanted in case.expected.items():
        got = to_numpy(outputs[name])
        kinds = as_dtype(got.dtype), as_dtype(wanted.dtype)
        assert kinds[0] == kinds[1], f"{name} is {dtype_name(kinds[0])}, not {dtype_name(kinds[1])}"
        assert_close(name, got, wanted, case.rtol, case.atol)
