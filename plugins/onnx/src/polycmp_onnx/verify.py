"""Making sure of a model that was just written, before it takes the place that it was written for."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, PolycmpError
from polycmp.graph import RANDOM_OPERATORS
from polycmp_onnx.faults import Fault, faults_of, inputs_and_outputs
from polycmp_onnx.graph import computed_tensors, is_standard, nodes_within
from polycmp_onnx.load import structure_from_path
from polycmp_onnx.trial import Tried, attempt, trial_backend

if TYPE_CHECKING:
    from polycmp.plugins import Registry

_REFUSES = {
    "checker": "ONNX's checker refuses",
    "inference": "ONNX's inference of types and shapes refuses",
    "weights": "lacks weights",
}
_LOG = logging.getLogger("polycmp")
#: Bytes up to which a file is loaded by a backend, and up to which it is run beside its original.
_LOADED, _RUN = 2 << 30, 256 << 20
#: By which share of an output's largest value an edit that promises the same results may change it: what is calculated
#: once by another library is rounded otherwise.
_UNIT, _COARSE_UNIT = 2.0**-10, 2.0**-4
_COARSE = frozenset({10, 16, 17, 18, 19, 20, 22, 23})  # FLOAT16, BFLOAT16 and those of 8 and 4 bits
#: Words with which a backend says that it lacks something, with any file.
_LACKS = (
    "NOT_IMPLEMENTED",
    "not implemented",
    "Could not find an implementation",
    "not supported",
    "unsupported",
    "not a registered",
)


class Verification:
    """Looks at a file that was written: by ONNX's rules, by loading it, and by running it beside its original.

    Faults that the original has, too, are reported and do not count against the file.

    Args:
        registry: The plugins, among which is the backend that loads the file; None to load nothing, neither the file
            nor its weights.
        original: Gives what the file was made of, or None where that is no ONNX model.
        same: Whether the file is to compute what the original does, as far as both have the same tensors.
        whose: The original, for messages.
        hint: The command to type where a file is refused, besides looking at the original.

    Attributes:
        done: Checks that passed, in a few words each.
        crashed: Whether a backend died while it loaded the file.
    """

    def __init__(
        self,
        registry: Registry | None,
        original: Callable[[], Any] = lambda: None,
        *,
        same: bool = False,
        whose: str = "the model",
        hint: str = "--no-verify writes the file all the same",
    ) -> None:
        self._registry, self._read, self._same, self._whose, self._hint = registry, original, same, whose, hint
        self._original: Any = None
        self._is_read = False
        self.done: list[str] = []
        self.crashed = False

    @property
    def original(self) -> Any:
        """The model that the file is derived from; None where it is not known."""
        if not self._is_read:
            self._original, self._is_read = self._read(), True
        return self._original

    def __call__(self, path: Path) -> None:
        """Look at a file.

        Raises:
            ModelError: Something is wrong with it that is not wrong with its original.
        """
        if self.check(structure_from_path(path), None if self._registry is None else path.parent):
            self.done.append("ONNX's rules")
        if self._registry is not None:
            self._try(path, self._registry)

    def check(self, model: Any, folder: Path | None = None) -> bool:
        """Look at a model by ONNX's rules; return whether it keeps them all.

        Args:
            model: An `onnx.ModelProto`, whose weights need not be loaded.
            folder: Folder of the files with its weights; None not to look for these.

        Raises:
            ModelError: It breaks one that its original keeps.
        """
        faults = faults_of(model, folder)
        for fault in faults:
            if fault.harmless or self._has_it_too(fault):
                _LOG.warning("ONNX's checker refuses the model, as it did before: %s", fault.text)
                continue
            raise self._refusal(f"this would make a model that {_REFUSES[fault.kind]}", fault.text)
        return all(fault.harmless for fault in faults)

    def _has_it_too(self, fault: Fault) -> bool:
        if fault.kind == "weights" or self.original is None:
            return False
        return any(fault.kind == other.kind for other in faults_of(self.original))

    def _refusal(self, what: str, why: str) -> ModelError:
        hint = "; ".join(filter(None, (f"polycmp check lint {self._whose}", self._hint)))
        return ModelError(f"{what}, so nothing was written", whose=self._whose, why=why, hint=hint)

    def _try(self, path: Path, registry: Registry) -> None:
        """Load the file, and run it beside its original where it is to compute the same."""
        backend, size = trial_backend(registry), sum(item.stat().st_size for item in path.parent.rglob("*"))
        if not backend or size > _LOADED:
            none = "no backend that runs ONNX models is installed; pip install polycmp-onnxrt"
            return self._leave("not loaded", f"it takes {size >> 20} MiB" if backend else none)
        reason = self._why_not_run(size)
        with tempfile.TemporaryDirectory(prefix="polycmp-verify-") as folder:
            marked = self._marked(path, Path(folder)) if self._same and not reason else None
            if marked is None:
                trial, reason = attempt(backend, str(path)), reason or "the original lacks tensors that it has"
            else:
                beside, feeds_original = marked
                trial = attempt(backend, str(path), beside, feeds_original=feeds_original, unit=self._unit())
        self.crashed = trial.crashed
        if trial.fault:
            return self._judge(trial, backend)
        if trial.loaded:
            self.done.append(f"{backend} loads it")
        if trial.compared:
            self.done.append(f"it computes what {self._whose} does")
        if trial.note or (self._same and reason and not trial.compared):
            self._leave("not compared with the original" if trial.loaded else "not loaded", trial.note or reason)
        return None

    def _leave(self, what: str, why: str) -> None:
        _LOG.warning("the file was %s: %s", what, why)

    def _why_not_run(self, size: int) -> str:
        """Explain why results are not compared; empty if they can be."""
        if not self._same:
            return ""
        if size > _RUN:
            return f"it takes {size >> 20} MiB"
        if self.original is None:
            return "the original is no ONNX model"
        functions = [node for function in self.original.functions for node in function.node]
        if any(is_standard(node, *RANDOM_OPERATORS) for node in (*nodes_within(self.original.graph), *functions)):
            return "it draws random numbers"
        return ""

    def _marked(self, path: Path, folder: Path) -> tuple[str, bool] | None:
        """Write the original with all that the file reads and makes as its outputs.

        Returns:
            Its file, and whether inputs have to be generated for it; None if it lacks something that the file reads.
        """
        from polycmp_onnx.outputs import ModifyOutputs
        from polycmp_onnx.save import save_onnx

        fed, produced = inputs_and_outputs(structure_from_path(path))
        before, _ = inputs_and_outputs(self.original)
        names = {*computed_tensors(self.original.graph), *(value.name for value in self.original.graph.output)}
        added_outputs = [name for name in (*sorted(fed - before), *sorted(produced - fed)) if name in names]
        if not added_outputs or not fed <= names | before:
            return None
        marked = ModifyOutputs(self.original, outputs=added_outputs)()
        target = folder / "original.onnx"
        save_onnx(marked, target)
        return str(target), not before <= fed

    def _unit(self) -> float:
        """Return by which share of its largest value an output may change."""
        types = {item.data_type for item in self.original.graph.initializer}
        types |= {item.i for node in nodes_within(self.original.graph) for item in node.attribute if item.name == "to"}
        return _COARSE_UNIT if types & _COARSE else _UNIT

    def _judge(self, tried: Tried, backend: str) -> None:
        """Refuse a file with a fault unless its original has it, or the backend lacks something."""
        if tried.loaded:
            raise self._refusal("what came out does not compute what it should", tried.fault)
        if any(word in tried.fault for word in _LACKS):
            return self._leave("not loaded", tried.fault)
        if self.original is None:
            return self._leave(
                "not loaded", f"{tried.fault} (it was made of no ONNX model, so it is unknown whose fault it is)"
            )
        if not self._original_loads(backend):
            return self._leave("not loaded", f"{tried.fault}; nor does it load the original")
        raise self._refusal("what came out cannot be loaded", tried.fault)

    def _original_loads(self, backend: str) -> bool:
        from polycmp_onnx.save import save_onnx

        with tempfile.TemporaryDirectory(prefix="polycmp-verify-") as folder:
            target = Path(folder) / "original.onnx"
            try:
                save_onnx(self.original, target)
            except PolycmpError as error:
                _LOG.debug("the original cannot be written anew", exc_info=error)
                return False
            return attempt(backend, str(target)).loaded


def save_part(
    loader: Callable[[], Any], path: str, *, original: Callable[[], Any], registry: Registry
) -> tuple[str, ...]:
    """Write what a loader makes of a model, once it is known that ONNX's rules and a backend take it as well as that.

    Args:
        loader: A callable that returns an `onnx.ModelProto`.
        path: The file to write.
        original: Gives the model of which it is made.
        registry: The plugins.

    Returns:
        The checks that passed, in a few words each.

    Raises:
        ModelError: Something is wrong with it that is not wrong with its original.
        FileError: The file cannot be written.
    """
    from polycmp_onnx.save import save

    verification = Verification(registry, original, whose="the model", hint="")
    save(loader, path, verify=verification)
    return tuple(verification.done)


def save_verified(model: Any, path: str, registry: Registry, original: Any, whose: str) -> None:
    """Write a model that a search has made, once it is known that ONNX's rules and a backend take it.

    Args:
        model: An `onnx.ModelProto`; it is not changed.
        path: The file to write.
        registry: The plugins.
        original: The model that it was made from.
        whose: That, for messages.

    Raises:
        ModelError: Something is wrong with it that is not wrong with its original.
        FileError: The file cannot be written.
    """
    from polycmp_onnx.save import write_model

    write_model(model, Path(path), verify=Verification(registry, lambda: original, whose=whose, hint=""))
