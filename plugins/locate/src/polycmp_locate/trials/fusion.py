"""Search for probes, further outputs of the model, that prevent a fault of operators that are right one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from polycmp.graph import GraphNode, ModelGraph
from polycmp.layerwise import PartitionedRun
from polycmp.tensors import Feed
from polycmp_locate.ddmin import ddmin
from polycmp_locate.setting import Tensors

#: Trials with the whole model after which the probes found so far have to do.
_MAX_TRIALS = 48


def find_probes(
    partitioned_run: PartitionedRun,
    feed: Feed,
    groups: Sequence[Sequence[str]],
    final: Sequence[str],
    is_right: Callable[[Tensors], bool],
    runs: int = 1,
) -> tuple[str, ...]:
    """Return few tensors that, as further outputs, make the final outputs right.

    Args:
        partitioned_run: The backend in question.
        feed: The inputs.
        groups: Tensors that may be outputs at the same time, in the order of the graph.
        final: The model's outputs.
        is_right: Predicate over final outputs: whether their error is gone.
        runs: How often a trial runs the model; it has to be right each time.
    """
    trials_left = _MAX_TRIALS

    def helps(probes: Sequence[str]) -> bool:
        nonlocal trials_left
        trials_left -= 1
        names = list(dict.fromkeys([*final, *probes]))
        each = (partitioned_run.run_whole(feed, names) for _ in range(runs))
        return all(outputs is not None and is_right({name: outputs[name] for name in final}) for outputs in each)

    inner_groups = [[name for name in group if name not in final] for group in groups]
    for group in [*inner_groups, list(chain.from_iterable(inner_groups))] if len(inner_groups) > 1 else inner_groups:
        if group and trials_left > 0 and helps(group):
            return tuple(ddmin(group, helps, lambda: trials_left > 0))
    return ()


def around(graph: ModelGraph, tensor: str) -> tuple[GraphNode | None, list[GraphNode]]:
    """Return the operator that makes a tensor and those that read it."""
    maker = next((node for node in graph.nodes if tensor in node.outputs), None)
    return maker, [node for node in graph.nodes if tensor in node.inputs]
