"""Figures along a model's graph, with the modules around each place: commands make them, reports draw them."""

from __future__ import annotations

from dataclasses import dataclass

from polycmp.report.result import Series, State


@dataclass(frozen=True)
class Measure:
    """A figure that places of a graph have.

    Attributes:
        title: Heading of the column.
        unit: Unit of the figures: `dB`; empty for shares, whose size says more than their digits.
        falls: Whether the smallest is the worst.
    """

    title: str
    unit: str = ""
    falls: bool = False


@dataclass(frozen=True)
class Place:
    """A tensor or a layer of a model, or of one of two models that differ.

    Attributes:
        name: Name of the tensor or layer; empty where only the other model has it.
        modules: The modules around it, the outermost first; empty where the file does not say.
        texts: Texts, one for each heading: its counterpart, how that was found.
        figures: Figures, one for each measure; None for one that was not measured.
        state: State to show; `skipped` for a place without counterpart.
        chosen: Whether it is one of those that the verdict names.
    """

    name: str
    modules: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    figures: tuple[float | None, ...] = ()
    state: State = "info"
    chosen: bool = False


@dataclass(frozen=True)
class AlongGraph(Series):
    """A series along a model's graph, whose places a page groups by module.

    Attributes:
        headings: Headings of the places' texts.
        measures: Measures of the places' figures.
        places: The places in the order of the graph; empty if there is no more to tell than the points say.
        name_title: Heading over the places' names.
        failed: Meaning of a failed place, in words.
    """

    headings: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    places: tuple[Place, ...] = ()
    name_title: str = "Tensor"
    failed: str = "outside the tolerance"
