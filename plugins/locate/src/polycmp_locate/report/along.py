"""A search along the graph: accumulated and own errors, the pairs of two models side by side, and the modules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from polycmp.graph import GraphNode
from polycmp.report import AlongGraph, Measure, Place, Point
from polycmp_locate.pairing.modules import path_of
from polycmp_locate.pairing.parts import PartNode
from polycmp_locate.pairing.result import Pairing
from polycmp_locate.values.located import Located
from polycmp_locate.values.measured import Row

#: Method shown for a tensor without a counterpart.
ALONE = "no counterpart"
_LEGEND = {
    "passed": "within the tolerance",
    "info": "outside, and rounding explains it",
    "failed": "outside the tolerance",
    "ring": "the operator's own error",
}


def along_graph(located: Located) -> AlongGraph:
    """Return the errors of all tensors in the order of the graph.

    Args:
        located: Result of the search.
    """
    judged = located.judged
    bad = sum(not row.passed for row in judged.rows)
    explained = _explained(located)
    places = tuple(_places(located))
    differ = located.pairing is not None
    return AlongGraph(
        title="Error along the graph",
        points=tuple(_point(row, located, index < explained) for index, row in enumerate(judged.rows)),
        remark="relative error, as it came through the model; click a point",
        summary=f"Relative error of {len(judged.rows)} tensors in the order of the graph; "
        f"{bad} are outside the tolerance",
        ends=("first operator", "last operator"),
        legend=_LEGEND,
        headings=(f"In {located.reference}", "Paired by", "Made by") if differ else ("Made by",),
        measures=(Measure("Relative"), Measure("Own")),
        places=places if differ or any(place.modules for place in places) else (),
        name_title=f"Tensor in {located.candidate}" if differ else "Tensor",
    )


def _explained(located: Located) -> int:
    """Count the rows before the first that rounding does not explain."""
    judged = located.judged
    if judged.first_bad is None:
        return len(judged.rows)
    return next((index for index, row in enumerate(judged.rows) if row is judged.first_bad), 0)


def _point(row: Row, located: Located, explained: bool) -> Point:
    text = f"{row.tensor} ({row.node.op_type}): {row.relative:.3g} relative"
    return Point(
        name=row.tensor,
        value=float(row.relative),
        state="passed" if row.passed else "info" if explained else "failed",
        text=text if row.standalone is None else f"{text}, own error {row.standalone.relative:.3g}",
        ring=None if row.standalone is None else float(row.standalone.relative),
        mark=f"{row.node.op_type} computes {row.tensor}" if row is located.judged.first_bad else "",
    )


def _places(located: Located) -> Iterator[Place]:
    judged = located.judged
    shown = [row.tensor for row in judged.rows]
    alone = places_alone(located.pairing, shown) if located.pairing is not None else {}
    for row in judged.rows:
        yield from alone.get(row.tensor, ())
        yield _place(row, located)
    yield from alone.get("", ())


def _place(row: Row, located: Located) -> Place:
    node, chosen = row.node, row is located.judged.first_bad
    counterpart = node.counterpart if isinstance(node, PartNode) else ""
    texts = (counterpart, node.method, operator_types(node)) if isinstance(node, PartNode) else (node.op_type,)
    return Place(
        name=row.tensor,
        modules=path_of(node, row.tensor, counterpart),
        texts=texts,
        figures=(float(row.relative), None if row.standalone is None else float(row.standalone.relative)),
        state="passed" if row.passed and not chosen else "failed",
        chosen=chosen,
    )


def operator_types(node: PartNode) -> str:
    """Return the types of the operators of both models that make a tensor, once where they are the same."""
    of_candidate, of_reference = ", ".join(node.candidate_ops), ", ".join(node.reference_ops)
    return (
        of_candidate
        if of_candidate == of_reference or not of_reference
        else f"{of_candidate or 'nothing'} | {of_reference}"
    )


def places_alone(pairing: Pairing, shown: Collection[str]) -> Mapping[str, list[Place]]:
    """Return the tensors that only one of two models has, by the shown tensor before which they stand.

    Args:
        pairing: Pairs of tensors of the two models.
        shown: Names in the candidate's model; those after all of them have an empty one.
    """
    places: dict[str, list[Place]] = {}
    to_candidate = {match.reference: match.candidate for match in reversed(pairing.matches)}
    sides: Iterable[tuple[Mapping[str, GraphNode | None], Mapping[str, str], bool]] = (
        (pairing.candidate_floats, {name: name for name in pairing.to_reference}, True),
        (pairing.reference_floats, to_candidate, False),
    )
    for tensors, pairs, of_candidate in sides:
        waiting: list[Place] = []
        for name, node in tensors.items():
            if name not in pairs:
                waiting.append(_alone(name, node, of_candidate))
            elif waiting and pairs[name] in shown:
                places.setdefault(pairs[name], []).extend(waiting)
                waiting = []
        places.setdefault("", []).extend(waiting)
    return places


def _alone(name: str, node: GraphNode | None, of_candidate: bool) -> Place:
    kind = "" if node is None else node.op_type
    modules = () if node is None else path_of(node, name)
    return Place(name if of_candidate else "", modules, ("" if of_candidate else name, ALONE, kind), state="skipped")
