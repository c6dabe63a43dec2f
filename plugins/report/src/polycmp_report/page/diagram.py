"""A diagram of the operators around one, as inline SVG: each a link to its row, tensors with what is known of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polycmp.report.elements import Markup, join, tag
from polycmp.sentences import cut
from polycmp_report.page.layers import Layers, layers_of
from polycmp_report.page.sections import card, scrolling
from polycmp_report.surroundings import STEPS, Box, Diagram

#: Width and height of a box, of the cell that it is in, and the margin around all, in pixels.
BOX, ROOM, MARGIN = (178, 40), (206, 92), 10
#: Letters of a box's name and of the text below it, and the number of tensors named there.
_NAME, _EDGE, _EDGES = 26, 34, 2

STYLE = """
.surroundings { display: block; margin: 0 auto; } .surroundings text { font: 11px var(--mono); fill: var(--soft); }
.surroundings text { paint-order: stroke; stroke: var(--card); stroke-width: 4px; }
.surroundings .chosen text { stroke: none; }
.surroundings rect { fill: var(--card); stroke: var(--line); stroke-width: 1.5; }
.surroundings text.kind { font: 650 13px system-ui, sans-serif; fill: var(--ink); }
.surroundings .edge { fill: none; stroke: var(--bar-soft); stroke-width: 1.5; }
.surroundings .edge.failed { stroke: var(--fail); } .surroundings text.failed { fill: var(--fail); }
.surroundings .passed rect { stroke: var(--pass); } .surroundings .failed rect { stroke: var(--fail); }
.surroundings .chosen rect { fill: var(--fail-back); stroke-width: 3; }
.surroundings a:hover rect, .surroundings a:focus rect { stroke: var(--focus); stroke-width: 3; }
.around { padding: 0 14px 14px; }
"""


def diagram_card(diagram: Diagram, places: Mapping[str, str]) -> Markup:
    """Return a diagram as a card.

    Args:
        diagram: The diagram.
        places: The element with a row's details, by the row's name.
    """
    more = f"; {diagram.left_out} more beside them are left out" if diagram.left_out else ""
    remark = f"up to {STEPS} operators before and after it, with the errors of their outputs{more}"
    title = join("The graph around ", tag("span", diagram.tensor, class_="name"))
    return card(title, remark, scrolling(_svg(diagram, places), "scroll around", aria_label="Graph"))


def _svg(diagram: Diagram, places: Mapping[str, str]) -> Markup:
    boxes = diagram.boxes
    maker = {name: index for index, box in enumerate(boxes) for name in box.makes}
    reads = [list(dict.fromkeys(maker[name] for name in box.reads if name in maker)) for box in boxes]
    layers = layers_of(reads)
    width, height = layers.width * ROOM[0] + 2 * MARGIN, layers.height * ROOM[1] + 2 * MARGIN
    states = {
        (maker[name], index): diagram.states.get(name, "")
        for index, box in enumerate(boxes)
        for name in box.reads
        if name in maker
    }
    return tag(
        "svg",
        tag("title", f"{len(boxes)} operators around the one that makes {diagram.tensor}"),
        *(tag("path", class_=f"edge {states[edge]}", d=_path(layers, edge)) for edge in layers.bends),
        *(_box(box, layers.boxes[index], diagram, places) for index, box in enumerate(boxes)),
        class_="surroundings",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="img",
    )


def _middle(place: tuple[float, int]) -> tuple[float, float]:
    return MARGIN + place[0] * ROOM[0], MARGIN + place[1] * ROOM[1] + BOX[1] / 2


def _path(layers: Layers, edge: tuple[int, int]) -> str:
    (x, y), (end_x, end_y) = (_middle(layers.boxes[index]) for index in edge)
    y, end_y = y + BOX[1] / 2, end_y - BOX[1] / 2
    text = f"M{x:.0f} {y:.0f}"
    stops = [(at, top + offset) for bend in layers.bends[edge] for at, top in [_middle(bend)] for offset in (-20, 20)]
    for at, down in [*stops, (end_x, end_y)]:
        half = (y + down) / 2
        text += f"C{x:.0f} {half:.0f} {at:.0f} {half:.0f} {at:.0f} {down:.0f}"
        x, y = at, down
    return text


def _box(box: Box, place: tuple[float, int], diagram: Diagram, places: Mapping[str, str]) -> Markup:
    x, y = _middle(place)
    states = [diagram.states.get(name, "") for name in box.makes]
    state = next((item for item in states if item == "failed"), next(iter(states), ""))
    target = next((places[name] for name in box.makes if name in places), None)
    words = [
        box.kind,
        *filter(None, [box.name]),
        *(f"makes {name}: {diagram.edges.get(name, '')}" for name in box.makes),
    ]
    drawn = join(
        tag("title", "\n".join(words)),
        tag("rect", x=f"{x - BOX[0] / 2:.0f}", y=f"{y - BOX[1] / 2:.0f}", width=BOX[0], height=BOX[1], rx=8),
        tag("text", box.kind, class_="kind", x=f"{x:.0f}", y=f"{y - 3:.0f}", text_anchor="middle"),
        tag(
            "text", _short(box.name or next(iter(box.makes), "")), x=f"{x:.0f}", y=f"{y + 13:.0f}", text_anchor="middle"
        ),
        *_known(box, x, y + BOX[1] / 2, diagram),
    )
    kind = f"{state}{' chosen' if box.chosen else ''}".strip()
    return tag("a" if target else "g", drawn, class_=kind or None, href=f"#{target}" if target else None)


def _known(box: Box, x: float, y: float, diagram: Diagram) -> Iterator[Markup]:
    """Yield labels for the output tensors of a box, below it, where their edges begin."""
    known = [(name, diagram.edges[name]) for name in box.makes if name in diagram.edges]
    for line, (name, text) in enumerate(known[:_EDGES]):
        error = text.rpartition("error ")  # the range is in the title: labels of neighbours have to leave room
        label = cut(f"error {error[2]}" if error[1] else text, _EDGE + 1)
        at = f"{y + 14 + 13 * line:.0f}"
        yield tag("text", label, class_=diagram.states.get(name) or None, x=f"{x:.0f}", y=at, text_anchor="middle")


def _short(name: str) -> str:
    """Return the end of a name, which says more than its beginning."""
    return name if len(name) <= _NAME else f"…{name[-_NAME + 1 :]}"
