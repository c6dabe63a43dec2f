"""Reduction of a model on which a command fails: each step writes a part of the model and runs the command."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from polycmp.debug import Replay, Stepper
from polycmp.files import make_folder
from polycmp.graph import ModelGraph
from polycmp.loader import Loader
from polycmp.model import Model
from polycmp.tensors import TensorEntry, TensorMetadata, dtype_class, is_size
from polycmp_locate.reduce.named import operators_named
from polycmp_locate.reduce.parts import ModelPart, PartCutter
from polycmp_locate.reduce.reduction import Reduction, recording_problem
from polycmp_locate.reduce.saved import SavedTensors
from polycmp_locate.reduce.search import ReduceOptions, State
from polycmp_locate.reduce.searching import OutputFiles, RecordedSearch, Stage
from polycmp_locate.reduce.writing import absolute, write_model

#: Size of a dimension that a model leaves open, where nothing else tells it.
_OPEN_DIMENSION = 1


class Shapes:
    """Types and shapes of all tensors in a model, with the sizes of open dimensions put in.

    Args:
        model: The model.
        graph: Operators of the model.
        run: Whether to run the model for them, instead of inferring them.
    """

    def __init__(self, model: Model, graph: ModelGraph, *, run: bool = False) -> None:
        self._model, self._graph = model, graph
        self._inputs = TensorMetadata()
        for name, entry in graph.inputs.items():
            self._inputs.add(name, entry.dtype, self._closed_shape(name, entry))
        self.known: dict[str, TensorEntry] = {} if run else dict(graph.types(self._inputs))
        self._ran = False

    def find(self, names: tuple[str, ...]) -> TensorMetadata | None:
        """Return types and shapes of tensors; None if not even a run of the model shows them."""
        if not all(map(self._is_known, names)) and not self._ran:
            self._ran = True
            self._run([name for name in self._inner_tensors() if not self._is_known(name)])
        if not all(map(self._is_known, names)):
            return None
        return TensorMetadata({name: self._graph.inputs.get(name) or self.known[name] for name in names})

    def non_float_tensors(self) -> list[str]:
        """Return the inner tensors without real numbers, which random values cannot replace."""
        self.find(tuple(self._inner_tensors()))
        classes = {name: entry.dtype for name, entry in self.known.items() if entry.dtype is not None}
        return [name for name in self._inner_tensors() if name not in classes or dtype_class(classes[name]) != "float"]

    def _inner_tensors(self) -> list[str]:
        return [name for node in self._graph.nodes for name in node.outputs if name not in self._graph.opaque]

    def _is_known(self, name: str) -> bool:
        if name in self._graph.inputs:
            return True
        entry = self.known.get(name)
        if entry is None or entry.dtype is None or entry.shape is None:
            return False
        return all(is_size(dim) for dim in entry.shape)

    def _closed_shape(self, name: str, entry: TensorEntry) -> tuple[int, ...] | None:
        shape = self._model.input_shapes.get(name)
        if shape is not None or entry.shape is None:
            return shape
        return tuple(dim if is_size(dim) else _OPEN_DIMENSION for dim in entry.shape)

    def _run(self, names: list[str]) -> None:
        """Run the model on an installed backend that shows inner tensors."""
        # Few models need this, and what it imports takes as long as several steps.
        from polycmp.layerwise import PartitionedRun
        from polycmp.options import make_options
        from polycmp.plan import BackendPlan
        from polycmp.results import BackendResult
        from polycmp.runs import ResolvedBackend, open_feeds

        registry, source = self._model.registry, self._model.data_loader
        if source is None or not names:
            return
        feed = next(open_feeds(source, self._graph.inputs), None)
        for contribution, tools in registry.equipped(registry.runners.values()):
            spec = contribution.spec
            if feed is None or not tools.runs_parts or not self._model.can_load(spec.accepts):
                continue
            plan = BackendPlan(spec.name, spec.name, make_options(spec.options, {}, spec.name))
            backend = ResolvedBackend(plan, self._model, contribution)
            partitioned_run = PartitionedRun(
                BackendResult(spec.name, spec.name), self._graph, backend.make_runner, spec.needs
            )
            arrays = partitioned_run.run_part(feed, names)
            if arrays is not None:
                self.known.update(
                    {name: TensorEntry(array.dtype, tuple(array.shape)) for name, array in arrays.items()}
                )
                return


class CheckJudge:
    """Judges a part: writes it, and runs the check.

    Args:
        model: The model.
        graph: Operators of the model.
        shapes: Types and shapes of its tensors.
        stepper: Runs the check and sorts artifacts.
        saved: Tensors that the check loads.

    Attributes:
        steps: Number of times that the check ran.
    """

    def __init__(self, model: Model, graph: ModelGraph, shapes: Shapes, stepper: Stepper, saved: SavedTensors) -> None:
        self.steps = 0
        self._model, self._graph, self._shapes, self._stepper = model, graph, shapes, stepper
        self._saved = saved
        self._failure_status: int | None = None
        self._failure_output = ""
        make_folder(str(Path(stepper.artifact).parent))

    def __call__(self, part: ModelPart) -> State:
        """Write the part and run the check."""
        loader = self._cut(part)
        if loader is None or not self._saved.write(part):
            return "unknown"
        stepper = self._stepper
        self._model.save_draft(loader, stepper.artifact, stepper.weights, whole=stepper.whole)
        index, self.steps = self.steps, self.steps + 1
        self._stepper.begin(index)
        checked = self._stepper.check()
        self._stepper.sort(index, checked.passed)
        if checked.passed:
            return "passes"
        if self._failure_status is None:
            self._failure_status, self._failure_output = checked.status, checked.output
        # A part that ends otherwise than the whole model (it cannot be loaded, say) has another fault.
        return "fails" if checked.status == self._failure_status or self._stepper.any_failure else "unknown"

    def suspects(self) -> list[int]:
        """Return the positions of the operators that the check named when the whole model failed."""
        return operators_named(self._failure_output, self._graph)

    def write(self, part: ModelPart, path: str) -> str:
        """Write a verified part.

        Returns:
            A remark on what was verified.

        Raises:
            ModelError: Something is wrong with it that is not wrong with the model.
        """
        loader = self._cut(part)
        return "" if loader is None else write_model(self._model, loader, path)

    def copy(self, part: ModelPart, path: str) -> None:
        """Write a part without verifying it again."""
        loader = self._cut(part)
        if loader is not None:
            self._model.save(loader, path)

    def _cut(self, part: ModelPart) -> Loader[Any] | None:
        inputs = self._shapes.find(part.inputs)
        return None if inputs is None else self._graph.cut(inputs, part.outputs)


def reduce_with_check(
    model: Model,
    stepper: Stepper,
    options: ReduceOptions,
    output_files: OutputFiles,
    replay: Replay,
    check: tuple[str, ...],
    saved: SavedTensors,
    *,
    run: bool = False,
    on_stage: Stage = lambda _: None,
) -> Reduction:
    """Reduce a model on which a command fails; write what was found.

    Args:
        model: The model.
        stepper: Runs the check and sorts artifacts.
        options: Options of the search.
        output_files: Files to write.
        replay: Keeps the steps.
        check: The words of the check; empty where the user is asked.
        saved: Tensors that the check loads.
        run: Whether to run the model for its shapes, instead of inferring them.
        on_stage: Told what happens next.

    Raises:
        ModelError: No loader shows the inside of models of this kind.
        PolycmpError: A file cannot be written, or the check cannot be run.
    """
    start = time.perf_counter()
    graph = model.shown_graph()
    shapes = Shapes(model, graph, run=run)
    judge = CheckJudge(model, graph, shapes, stepper, saved)
    parts = PartCutter(graph, shapes.non_float_tensors())
    reduction = RecordedSearch(graph, parts, judge, options, replay, on_stage, judge.suspects).run()
    if saved.missing:
        some = ", ".join([*saved.missing[:3], *(["…"] if len(saved.missing) > 3 else [])])
        reduction.notes.append(
            f"the saved outputs lack {some}, so parts that end there were not judged: save every tensor with "
            "--onnx-outputs '*'"
        )
    if reduction.failing is not None:
        reduction.sentence = f"fails the check{': ' if check else ''}{' '.join(check)}"
        with recording_problem(reduction):
            _write(reduction, output_files, judge, stepper.artifact, check, saved)
    reduction.seconds = time.perf_counter() - start
    return reduction


def _write(
    reduction: Reduction,
    output_files: OutputFiles,
    judge: CheckJudge,
    artifact: str,
    check: tuple[str, ...],
    saved: SavedTensors,
) -> None:
    from polycmp_locate.reduce.case import Reproduction

    reduction.write_parts(output_files.output, output_files.passing, judge.write)
    if output_files.folder and check and reduction.failing is not None:
        folder = make_folder(output_files.folder)
        judge.copy(reduction.failing, str(folder / Path(artifact).name))
        saved.write(reduction.failing, folder)
        words = [Path(artifact).name if word == artifact else str(absolute(word)) for word in saved.words_inside()]
        case = Reproduction(words, None, reduction.sentence, reduction.command)
        case.write(folder)
        reduction.wrote_case(output_files.folder, shown=case.shows_the_fault(folder))
