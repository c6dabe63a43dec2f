"""Search for the fewest operators on which a backend fails together although it runs each alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from polycmp.graph import GraphNode
from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed
from polycmp_locate.reduce.parts import ModelPart, PartCutter, ReferenceTensors
from polycmp_locate.reduce.search import ReduceOptions, Reducer, State
from polycmp_locate.setting import Stage
from polycmp_locate.trials.switches import find_cure
from polycmp_locate.values.judged import Cure


@dataclass(frozen=True)
class RunsTogether:
    """Operators that a backend runs one by one and not together.

    Attributes:
        nodes: The operators, in the order of the model.
        inputs: Inputs of the operators, from the reference.
        outputs: Outputs of the reference for them.
        cure: Setting with which the backend runs them; None if there is none.
    """

    nodes: tuple[GraphNode, ...]
    inputs: Feed
    outputs: dict[str, Any]
    cure: Cure | None


def find_together(
    candidate: PartitionedRun,
    reference: PartitionedRun,
    feed: Feed,
    outputs: Sequence[str],
    on_stage: Stage = lambda _: None,
) -> RunsTogether | None:
    """Return the fewest operators that a backend does not run together; None if it runs the model once it is cut.

    Args:
        candidate: The backend that fails on the whole model.
        reference: The backend to believe, which runs it.
        feed: The inputs.
        outputs: The model's outputs.
        on_stage: Told what happens next.
    """
    judge = _Runs(candidate, reference, feed, on_stage)
    reducer = Reducer(PartCutter(reference.graph), judge, ReduceOptions(around=False))
    part = reducer.reduce() if reducer.start(outputs) else None
    inputs = judge.tensors(part.inputs) if part is not None else None
    expected = reference.run_part(inputs, part.outputs) if part is not None and inputs is not None else None
    if part is None or inputs is None or expected is None:
        return None
    on_stage("looking for what the backend can leave out")
    cure = find_cure(
        candidate,
        lambda turned: turned.run_part(inputs, part.outputs) is not None,
        lambda turned: turned.run_whole(feed) is not None,
    )
    return RunsTogether(tuple(reference.graph.nodes[index] for index in part.nodes), inputs, expected, cure)


class _Runs:
    """Test of whether the candidate runs a part on the reference's tensors.

    Args:
        candidate: The backend that fails on the whole model.
        reference: The backend that makes what parts read.
        feed: The inputs.
        on_stage: Told what happens next.
    """

    def __init__(self, candidate: PartitionedRun, reference: PartitionedRun, feed: Feed, on_stage: Stage) -> None:
        self._candidate, self._on_stage = candidate, on_stage
        self.tensors = ReferenceTensors(reference, feed)

    def __call__(self, part: ModelPart) -> State:
        self._on_stage(f"trying {part.size} operators together")
        tensors = self.tensors(part.inputs)
        if tensors is None:
            return "unknown"
        return "fails" if self._candidate.run_part(tensors, part.outputs) is None else "passes"
