"""A saved run as the reference: tensors that were recorded on a device, or in a framework, that cannot be here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from polycmp.errors import FileError, UsageError
from polycmp.graph import ModelGraph
from polycmp.layerwise import JoinParts, MakeRunner, PartitionedRun, Segment
from polycmp.options import unique_label
from polycmp.plan import Plan
from polycmp.results import BackendResult
from polycmp.results.files import SavedRun, open_runs
from polycmp.runs import Resolved, choose_reference, is_measured, open_feeds
from polycmp.sentences import listed
from polycmp.tensors import Feed, TensorMetadata, dtype_of, same_bits, to_numpy
from polycmp_locate.pairing.modules import pair_modules
from polycmp_locate.pairing.names import pair_names
from polycmp_locate.pairing.parts import join
from polycmp_locate.pairing.result import GIVEN, SAME_NAME, Match, Pairing
from polycmp_locate.pairing.side import ModelSide
from polycmp_locate.pairing.view import SharedGraph, under_names
from polycmp_locate.setting import Setting
from polycmp_locate.setup.measuring import rounding_of_outputs
from polycmp_locate.setup.sides import defined_run

_SHOWN = 4


class RecordedRun(PartitionedRun):
    """A run that is over: it shows what was recorded, and computes nothing.

    Args:
        result: Result of the run, for reports.
        graph: The model between recorded tensors.
        tensors: Recorded tensors, by the candidate's names.
        feed: Recorded inputs.
    """

    def __init__(self, result: BackendResult, graph: ModelGraph, tensors: Mapping[str, Any], feed: Feed) -> None:
        super().__init__(result, graph, _no_runner)
        self._recorded = {**tensors, **feed}
        self._shown, self._fed = dict(tensors), feed

    def through(
        self,
        graph: ModelGraph,
        make: MakeRunner,
        change: Callable[[PartitionedRun], PartitionedRun],
        join: JoinParts | None = None,
    ) -> RecordedRun:
        """Return the same run of another view of its model, in which the tensors have the same names."""
        del make, change, join
        return RecordedRun(self.result, graph, self._shown, self._fed)

    def begin(self, feed: Feed) -> None:
        """Start an iteration."""
        super().begin(feed)
        self.tensors = dict(self._recorded)

    def run(self, segment: Segment, *, keep: bool = False, whole: bool = False) -> Mapping[str, Any] | None:
        """Return the recorded tensors of a segment."""
        del keep, whole
        shown = {name: self._shown[name] for name in segment.wanted if name in self._shown}
        self._seen.update({name: (dtype_of(array), tuple(array.shape)) for name, array in shown.items()})
        return shown

    def run_part(self, inputs: Feed, outputs: Sequence[str]) -> dict[str, Any] | None:
        """Return recorded tensors, where the part is fed with recorded ones; None if it would have to compute."""
        same = all(name in self._recorded and _equal(array, self._recorded[name]) for name, array in inputs.items())
        return {name: self._recorded[name] for name in outputs if name in self._recorded} if same else None

    def run_repeatedly(self, feed: Feed, outputs: Sequence[str] | None, times: int) -> list[dict[str, Any]]:
        """Return the recorded outputs, where the model is fed with what they were made of."""
        once = self.run_part(feed, self.graph.outputs if outputs is None else outputs)
        return [] if once is None else [once] * times


def _no_runner(_part: Any, _same_inputs: bool) -> Any:
    raise NotImplementedError("a saved run has no runner")


def _equal(one: Any, two: Any) -> bool:
    a, b = to_numpy(one), to_numpy(two)
    return a is b or same_bits(a, b)


def open_record(plan: Plan, used_labels: Sequence[str]) -> tuple[str, SavedRun]:
    """Return the saved run to believe and its label.

    Raises:
        UsageError: No saved run has the name that was given.
        FileError: A file is missing, damaged, or holds no runs.
    """
    runs = [run for path in plan.files.load_outputs for run in open_runs(path)]
    runs = [run for run in runs if run.count]
    if not runs:
        raise FileError(
            "holds no iteration of any run",
            whose=", ".join(plan.files.load_outputs),
            hint="save it with the tensors by name: np.savez('run.npz', **tensors)",
        )
    results = [BackendResult(run.label, "saved") for run in runs]
    label = choose_reference(plan.compare.reference, results, kind="saved run")
    chosen = next((run for run in runs if run.label == label), runs[-1])
    return unique_label(chosen.label, set(used_labels)), chosen


class Record:
    """A saved run on its way to be the reference of a search.

    Args:
        label: Label of the run in reports.
        run: The run.
        plan: The search.
        resolved: The backends and inputs of the plan.
    """

    def __init__(self, label: str, run: SavedRun, plan: Plan, resolved: Resolved) -> None:
        self.result = BackendResult(label=label, backend="saved", model=str(run.path))
        self._run, self._plan, self._resolved = run, plan, resolved
        self.notes: list[str] = []

    def iterations(self, inputs: TensorMetadata) -> Iterator[tuple[Feed, Mapping[str, Any]]]:
        """Yield the recorded inputs and tensors, iteration by iteration.

        The inputs come from the record where it has them and no others are given.

        Args:
            inputs: The model's inputs.
        """
        data = self._plan.data
        feeds = None
        for tensors in self._tensors():
            if not (data.files or data.script) and all(name in tensors for name in inputs):
                yield {name: tensors[name] for name in inputs}, tensors
                continue
            if feeds is None:
                feeds = open_feeds(self._resolved.source, inputs)
                if not (data.files or data.script):
                    self.notes.append(
                        f"{self.result.label} does not hold its inputs: those of the data loader {data.loader.name} "
                        "are taken for them; --load-inputs gives the right ones"
                    )
            feed = next(feeds, None)
            if feed is None:
                return
            yield feed, tensors

    def steps(self, inputs: TensorMetadata) -> Iterator[tuple[Feed, Mapping[str, Any]]]:
        """Yield the recorded inputs that no other option overrides, and the recorded tensors, step by step.

        Args:
            inputs: The model's inputs.
        """
        has_other_inputs = bool(self._plan.data.files or self._plan.data.script)
        for tensors in self._tensors():
            yield {} if has_other_inputs else {name: tensors[name] for name in inputs if name in tensors}, tensors

    def _tensors(self) -> Iterator[Mapping[str, Any]]:
        """Yield the recorded tensors, and count the iterations."""
        for tensors in self._run.iterations:
            self.result.iterations += 1
            self.result.outputs = TensorMetadata.from_feed_dict(tensors)
            yield tensors

    def setting(
        self, candidate: PartitionedRun, feed: Feed, tensors: Mapping[str, Any], functions: Mapping[str, Any]
    ) -> Setting:
        """Return the setting to search with.

        Raises:
            UsageError: No recorded tensor has a name of the model.
        """
        side = ModelSide(candidate.graph, TensorMetadata.from_feed_dict(feed))
        matches = self._matches(side, tensors)
        recorded = tuple(name for name in tensors if name not in side.graph.inputs)
        pairing = Pairing(matches, side.floats, dict.fromkeys(recorded), recorded=True)
        candidate_pairing = Pairing(tuple(Match(item.candidate, item.candidate, item.method) for item in matches))
        joint = join(candidate_pairing, side, side)
        names = {item.candidate: item.reference for item in matches}
        nodes = [replace(node, counterpart=names[node.outputs[0]], reference_ops=()) for node in joint.nodes]
        outputs = tuple(name for name in candidate.graph.outputs if name in names) or _ends(nodes)
        names_to_themselves = {name: name for name in joint.to_reference}
        graph = SharedGraph(side, nodes, names_to_themselves, outputs, side.graph.inputs)
        arrays = {name: tensors[record] for name, record in names.items()}
        is_behind_codes = any(item.method == SAME_NAME and item.candidate != item.reference for item in matches)
        candidate_run = under_names(candidate, graph)
        partitioned_run = RecordedRun(self.result, graph, arrays, feed)
        setting = Setting(
            candidate_run,
            partitioned_run,
            None,
            functions,
            self._plan.max_memory,
            pairing,
            is_measured=is_measured(self._plan.compare),
            judge_by_rounding=rounding_of_outputs(
                self._resolved, candidate.label, self.result.label, other_model=is_behind_codes
            ),
        )
        return replace(setting, defined=defined_run(self._resolved, candidate, setting))

    def _matches(self, side: ModelSide, tensors: Mapping[str, Any]) -> tuple[Match, ...]:
        inner = [name for name in side.computed if name not in side.graph.inputs]
        recorded = [name for name in tensors if name not in side.graph.inputs]
        user_pairs = {
            tensor: record
            for tensor, record in self._plan.compare.map_output.items()
            if tensor in inner and record in recorded
        }
        matches = {name: Match(name, record, GIVEN) for name, record in user_pairs.items()}
        rest = [name for name in recorded if name not in user_pairs.values()]
        for match in (
            *pair_names([n for n in inner if n not in user_pairs], rest),
            *pair_modules(side.graph.nodes, rest),
        ):
            if match.candidate not in matches and match.reference not in {item.reference for item in matches.values()}:
                matches[match.candidate] = match
        if not matches:
            of_record, of_model = (listed(names, _SHOWN) or "none" for names in (recorded, inner))
            raise UsageError(
                f"no tensor recorded in {self.result.model} has a name of the model",
                why=f"recorded are {of_record}; the model has {of_model}",
                hint="name them: --map-output MODEL_TENSOR=RECORDED_TENSOR",
            )
        matches = {name: match for match in matches.values() for name in [_behind_codes(side, match)]}
        return tuple(replace(matches[name], candidate=name) for name in inner if name in matches)


def _behind_codes(side: ModelSide, match: Match) -> str:
    """Return the tensor to compare with a recorded one: where a file only rounds one to codes, their numbers.

    Quantisers leave out a Relu or Clip that the range of codes does as well, and give its name to what it read.
    """
    for node in side.quantisers(match.candidate) if match.method == SAME_NAME else ():
        for reader in side.all_readers.get(node.outputs[0], ()):
            if reader.op_type == "DequantizeLinear" and reader.outputs[0] not in side.static:
                return reader.outputs[0]
    return match.candidate


def _ends(nodes: Sequence[Any]) -> tuple[str, ...]:
    """Return the tensors that nothing reads."""
    read = {name for node in nodes for name in node.inputs}
    return tuple(node.outputs[0] for node in nodes if node.outputs[0] not in read)
