"""Set-up of a search among mixed models: two backends, their models, inputs, and the reference's outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from polycmp.errors import ModelError, UsageError
from polycmp.graph import ModelGraph
from polycmp.layerwise import PartitionedRun, open_partitioned_runs
from polycmp.plan import Plan
from polycmp.runs import Resolved, ResolvedBackend, choose_reference, copy_feed, copy_outputs, open_feeds, resolve
from polycmp.tensors import Feed, TensorMetadata
from polycmp_locate.onnx_extra import require_onnx
from polycmp_locate.pairing import Pairing, pair_graphs
from polycmp_locate.pairing.inputs import input_pairs, renamed_inputs, with_inputs
from polycmp_locate.pairing.words import input_notes
from polycmp_locate.precision.rank.trials import Trials

if TYPE_CHECKING:
    from onnx import ModelProto

    from polycmp.plugins import Registry
    from polycmp_locate.precision.mixed import Layer

Stage = Callable[[str], None]
Cases = Sequence[tuple[Feed, dict[str, Any]]]


class Setup:
    """Two backends, each with a model of its own, whose layers can be exchanged.

    Args:
        plan: Models, backends, inputs and tolerances.
        registry: The plugins.
        on_stage: Told in words what happens next.
        reduce: Makes the candidate's model of the reference's; None where it has a file of its own.

    Attributes:
        candidate: The backend to judge.
        reference: The backend that it is compared with.
        candidate_run: The candidate with a view inside its model.
        reference_run: The reference with a view inside its model.
        mixer: Exchanges layers.
        pairing: Pairs of tensors of the two models.
        inputs: The candidate's names of inputs that are renamed, by the reference's names, which are used throughout.

    Raises:
        PluginError: `polycmp-onnx` is not installed.
        UsageError: There are not two backends with a model each.
        ModelError: A model cannot be read, they have nothing in common, or it is not clear which inputs are the same.
    """

    def __init__(
        self,
        plan: Plan,
        registry: Registry,
        on_stage: Stage = lambda _: None,
        reduce: Callable[[Any], Any] | None = None,
    ) -> None:
        require_onnx("exchanging layers")
        from polycmp_onnx import OnnxGraph
        from polycmp_onnx.graph import with_names

        self._plan, self._registry, self._on_stage = plan, registry, on_stage
        self._resolved = resolve(plan, registry)
        self.candidate, self.reference = _sides(self._resolved, derived=reduce is not None)
        on_stage("reading the models")
        self.exact = _onnx(self.reference)
        partitioned_runs = {
            partitioned_run.label: partitioned_run for partitioned_run in open_partitioned_runs(self._resolved)
        }
        self.reference_run = partitioned_runs[self.reference.label]
        self.candidate_run = partitioned_runs[self.candidate.label]
        self._pairs = input_pairs(
            self.candidate_run, self.reference_run, plan.data.map_input, plan.command, further=False
        )
        self.inputs = renamed_inputs(self._pairs)
        if self.inputs:
            self.candidate_run = with_inputs(self.candidate_run, self.inputs)
        self._candidate_model = model = _onnx(self.candidate) if reduce is None else reduce(self.exact)
        if reduce is not None:  # its model has no file, so what was opened for it is the float model
            self.candidate_run = PartitionedRun(
                self.candidate_run.result, OnnxGraph(model), self.candidate.make_runner, self.candidate.needs
            )
        self.use(with_names(model, {model_name: name for name, model_name in self.inputs.items()}))

    def save(self, layers: Iterable[Layer], path: str) -> None:
        """Write the candidate's model with some layers of the reference's, under its own names of inputs.

        Args:
            layers: The layers.
            path: The file to write.

        Raises:
            ModelError: Something is wrong with it that is not wrong with the candidate's model.
            FileError: The file cannot be written.
        """
        from polycmp_onnx import save_verified
        from polycmp_onnx.graph import with_names

        mixed_model = with_names(self.mixer.mix(layers), self.inputs)
        save_verified(mixed_model, path, self._registry, self._candidate_model, self.candidate.model.path)

    def notes(self) -> Iterator[str]:
        """Yield notes on how the models were brought together."""
        yield from input_notes(self._pairs, self.candidate.label, self.reference.label)

    def use(self, model: ModelProto) -> None:
        """Exchange layers of this model from now on, whose tensors have the names of the candidate's."""
        from polycmp_locate.precision.mixed import Mixer

        candidate, reference = self.candidate_run.graph, self.reference_run.graph
        self.pairing = pair_graphs(candidate, reference)
        self.mixer = Mixer(self.exact, model, counterparts(self.pairing, candidate, reference))

    def cases(self) -> Cases:
        """Return all inputs with what the reference makes of them.

        Raises:
            ModelError: The reference fails.
            UsageError: There are no inputs.
        """
        live = self.reference.make_run()
        live.activate()
        cases = []
        self._on_stage("running the reference")
        for feed in open_feeds(self._resolved.source, live.inputs() or TensorMetadata()) if live.is_active else ():
            outputs = live.infer(feed)
            if outputs is None:
                break
            cases.append((copy_feed(feed), copy_outputs(outputs)))
        live.deactivate()
        if live.result.error:
            raise ModelError(f"the reference failed: {live.result.error}", whose=live.label, hint=live.result.hint)
        if not cases:
            raise UsageError("the data loader gave no inputs")
        return cases

    def trials(self, layers: Sequence[Layer], cases: Cases) -> Trials:
        """Return the trials that run and judge the model with some layers exchanged.

        Args:
            layers: The layers that may be exchanged.
            cases: The inputs.
        """
        return Trials(
            self.mixer, layers, self.candidate, cases,
            self._resolved, self.reference.label, self._on_stage,
        )  # fmt: skip


def counterparts(pairing: Pairing, candidate: ModelGraph, reference: ModelGraph) -> dict[str, str]:
    """Return the tensors of the reference's model, each with its counterpart in the candidate's.

    Of several, that is the one of the same name, or else the first: the others are its rounded forms.

    Args:
        pairing: Pairs of tensors of the two models.
        candidate: The reduced model.
        reference: The float model.
    """
    pairs = {name: name for name in reference.inputs if name in candidate.inputs}
    for match in pairing.matches:
        if match.candidate in pairing.codes:
            continue  # whole numbers, which no layer in float reads
        if match.reference not in pairs or match.candidate == match.reference:
            pairs[match.reference] = match.candidate
    return pairs


def _sides(resolved: Resolved, *, derived: bool) -> tuple[ResolvedBackend, ResolvedBackend]:
    """Return the backend to judge and the one to believe.

    Raises:
        UsageError: There are not two, they have the same model, or `--reference` names none of them, or both.
    """
    backends = list(resolved.backends)
    hint = "polycmp locate GOOD.onnx -b onnxrt:model=OTHER.onnx -b onnxrt"
    if len(backends) != 2:
        raise UsageError("two backends are needed: one for the model to judge, one for the model to believe", hint=hint)
    reference = resolved.backend(choose_reference(resolved.plan.compare.reference, resolved.plan.backends))
    candidate = next(item for item in backends if item is not reference)
    if not derived and candidate.model.path == reference.model.path:
        raise UsageError("two models are needed: the one to judge, and the one to believe", hint=hint)
    return candidate, reference


def _onnx(backend: ResolvedBackend) -> ModelProto:
    """Return a backend's model.

    Raises:
        ModelError: It is no ONNX model.
    """
    if not backend.model.can_load(("onnx",)):
        raise ModelError(f"is of kind {backend.model.kind}, and layers are exchanged in ONNX", whose=backend.model.path)
    model: ModelProto = backend.model.load("onnx")()
    return model
