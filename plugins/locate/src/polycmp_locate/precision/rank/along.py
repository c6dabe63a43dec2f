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
    producers = makers(graph.nodes)
    for item in layers:
        for name in item.layer.outputs[:1]:
            item.modules = path_of(graph.nodes[producers[name]], item.layer.name, name)


def gain_of(item: LayerFigures, ranking: Ranking) -> float | None:
    """Return the gain in dB of the outputs with this layer alone in float; None if it was not measured."""
    base = ranking.reduced
    if item.alone is None or base is None:
        return None
    return 0.0 if item.alone == base.ratio else item.alone - base.ratio


def along_graph(ranking: Ranking) -> AlongGraph:
    """Return the noise of all layers in the order of the graph."""
    float_count = sum(item.in_float for item in ranking.layers)
    return AlongGraph(
        title="Noise along the graph",
        points=tuple(map(_point, ranking.layers)),
        remark="noise as a share of the signal, as it came through the smaller model",
        summary=f"Noise of {len(ranking.layers)} layers in the order of the graph; {float_count} stay in float",
        ends=("first layer", "last layer"),
        legend={"passed": "in the smaller type", "failed": "stays in float", "ring": "what the layer alone brings"},
        headings=("Operator", f"Its tensors in {ranking.reference}", f"In {ranking.candidate}", "Paired by"),
        measures=(Measure("Arrives", "dB", falls=True), Measure("Own", "dB", falls=True), Measure("Gain", "dB")),
        places=tuple(_places(ranking)),
        name_title="Layer",
        failed="kept in float",
    )


def _point(item: LayerFigures) -> Point:
    arrives, layer_ratio = item.accumulated, item.layer_ratio
    return Point(
        name=item.layer.name,
        value=_noise(arrives),
        state="failed" if item.in_float else "passed",
        text=f"{item.layer.label}: {arrives:.3g} dB arrive, {layer_ratio:.3g} dB alone",
        ring=_noise(layer_ratio),
    )


def _noise(ratio: float) -> float:
    """Return noise as a share of the signal, of a ratio in dB."""
    return float(10.0 ** (-ratio / 20.0))


def _places(ranking: Ranking) -> Iterator[Place]:
    pairing = ranking.pairing
    by_reference = {match.reference: match for match in reversed(pairing.matches)}
    shown = [
        by_reference[name].candidate for item in ranking.layers for name in item.layer.outputs if name in by_reference
    ]
    alone = places_alone(pairing, shown)
    for item in ranking.layers:
        matches = [by_reference[name] for name in item.layer.outputs if name in by_reference]
        for match in matches:
            yield from map(_alone, alone.get(match.candidate, ()))
        methods = dict.fromkeys(match.method for match in matches)
        texts = (item.layer.op_type, _list(item.layer.outputs), _list([match.candidate for match in matches]))
        yield Place(
            name=item.layer.name,
            modules=item.modules,
            texts=(*texts, _list(list(methods))),
            figures=(item.accumulated, item.layer_ratio, gain_of(item, ranking)),
            state="failed" if item.in_float else "info",
            chosen=item.in_float,
        )
    yield from map(_alone, alone.get("", ()))


def _list(names: Sequence[str]) -> str:
    return ", ".join(names)


def _alone(place: Place) -> Place:
    """Convert a tensor of one model to a place without a layer."""
    reference, method, kind = place.texts
    return Place("", place.modules, (kind, reference, place.name, method), state="skipped")
