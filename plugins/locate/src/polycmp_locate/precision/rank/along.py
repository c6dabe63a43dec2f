"""A ranking along the graph: noise of each layer as it arrives and its own, its tensors in both models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polycmp.graph import ModelGraph
from polycmp.layerwise import makers
from polycmp.report import AlongGraph, Measure, Place, Point
from polycmp_locate.pairing.modules import path_of
from polycmp_locate.precision.rank.result import LayerFigures, Ranking
from polycmp_locate.report.along import places_alone


def name_modules(layers: Iterable[LayerFigures], graph: ModelGraph) -> None:
    """Set the modules around layers.

    Args:
        layers: The layers.
        graph: The float model.
    """
    made_by = makers(graph.nodes)
    for item in layers:
        for name in item.layer.outputs[:1]:
            item.modules = path_of(graph.nodes[made_by[name]], item.layer.name, name)


def gain_of(item: LayerFigures, found: Ranking) -> float | None:
    """Return by how many dB the outputs improve with this layer alone in float; None if that was not measured."""
    base = found.reduced
    if item.alone is None or base is None:
        return None
    return 0.0 if item.alone == base.ratio else item.alone - base.ratio


def along_graph(found: Ranking) -> AlongGraph:
    """Return the noise of all layers in the order of the graph.

    Args:
        found: The ranking.
    """
    kept = sum(item.kept for item in found.layers)
    return AlongGraph(
        title="Noise along the graph",
        points=tuple(map(_point, found.layers)),
        remark="noise as a share of the signal, as it came through the smaller model",
        summary=f"Noise of {len(found.layers)} layers in the order of the graph; {kept} stay in float",
        ends=("first layer", "last layer"),
        legend={"passed": "in the smaller type", "failed": "stays in float", "ring": "what the layer alone brings"},
        headings=("Operator", f"Its tensors in {found.reference}", f"In {found.candidate}", "Paired by"),
        measures=(Measure("Arrives", "dB", falls=True), Measure("Own", "dB", falls=True), Measure("Gain", "dB")),
        places=tuple(_places(found)),
        name_title="Layer",
        failed="kept in float",
    )


def _point(item: LayerFigures) -> Point:
    arrives, own = item.accumulated, item.own
    return Point(
        name=item.layer.name,
        value=_noise(arrives),
        state="failed" if item.kept else "passed",
        text=f"{item.layer.label}: {arrives:.3g} dB arrive, {own:.3g} dB alone",
        ring=_noise(own),
    )


def _noise(ratio: float) -> float:
    """Return noise as a share of the signal, of a ratio in dB."""
    return float(10.0 ** (-ratio / 20.0))


def _places(found: Ranking) -> Iterator[Place]:
    pairing = found.pairing
    own = {match.reference: match for match in reversed(pairing.matches)}
    shown = [own[name].candidate for item in found.layers for name in item.layer.outputs if name in own]
    alone = places_alone(pairing, shown)
    for item in found.layers:
        matches = [own[name] for name in item.layer.outputs if name in own]
        for match in matches:
            yield from map(_alone, alone.get(match.candidate, ()))
        methods = dict.fromkeys(match.method for match in matches)
        texts = (item.layer.op_type, _list(item.layer.outputs), _list([match.candidate for match in matches]))
        yield Place(
            name=item.layer.name,
            modules=item.modules,
            texts=(*texts, _list(list(methods))),
            figures=(item.accumulated, item.own, gain_of(item, found)),
            state="failed" if item.kept else "info",
            chosen=item.kept,
        )
    yield from map(_alone, alone.get("", ()))


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def _alone(place: Place) -> Place:
    """Return a tensor of one model as one without a layer."""
    reference, method, kind = place.texts
    return Place("", place.modules, (kind, reference, place.name, method), state="skipped")
