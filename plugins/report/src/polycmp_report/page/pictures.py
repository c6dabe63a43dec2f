"""Data about two arrays as elements of a page: an image, a scatter plot, histograms, and a table."""

from __future__ import annotations

import math
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polycmp.report import figure
from polycmp.report.elements import Markup, tag
from polycmp_report.page.drawings import png_address
from polycmp_report.page.error_views import NOTHING, Look
from polycmp_report.page.sections import scrolling

SIZE, HEIGHT, PAD = 220, 140, 6
#: Colours from no error to the largest, as the ends and the middle of a scale that also the colour-blind can read.
_COLOURS = np.array([(68, 1, 84), (33, 145, 140), (253, 231, 37)], np.float64)
#: The last colours of the palette: where no element is, and where the error is infinite.
_EMPTY, _INFINITE = 254, 255
STYLE = """
.looks { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(210px, 100%), 1fr)); gap: 16px;
  grid-column: 1 / -1; margin-bottom: 16px; }
.looks figure { margin: 0; min-width: 0; } .looks img, .looks svg { width: 100%; max-width: 300px; height: auto; }
.looks img { image-rendering: pixelated; aspect-ratio: var(--shape); min-height: 24px; max-height: 260px; }
.looks figcaption { margin-bottom: 6px; } .looks figcaption h3 { margin: 0; }
.looks .dot { stroke: var(--focus); stroke-width: 3; stroke-linecap: round; opacity: .55; fill: none; }
.looks .far { stroke: var(--fail); stroke-width: 5; opacity: 1; }
.looks .even { stroke: var(--soft); stroke-dasharray: 3 3; } .looks .frame { fill: none; stroke: var(--line); }
.looks .made { fill: var(--focus); opacity: .45; } .looks .expected { fill: none; stroke: var(--ink); }
.looks text { fill: var(--soft); font: 11px var(--mono); } .looks .worst { overflow-x: auto; }
.looks .table { grid-column: span 2; } .looks table { width: auto; display: table; font: 12.5px/1.45 var(--mono); }
.looks tbody { display: table-row-group; } .looks thead { display: table-header-group !important; }
.looks td, .looks thead th { padding: 1px 14px 1px 0; text-align: right; border: 0; min-width: 0; background: none;
  font-family: var(--mono); white-space: nowrap; }
@media (max-width: 600px) { .looks .table { grid-column: auto; } }
"""


def pictures(look: Look) -> Markup:
    """Return everything that is shown of an output."""
    where = f" in iteration {look.iteration}" if look.iteration else ""
    return tag(
        "div",
        _figure(
            f"Absolute error{where}",
            f"{look.image_of}; the brightest is {figure(_brightest(look.image))}",
            _image(look),
        ),
        _figure("Candidate against reference", "on the line they agree", _scatter(look)),
        _figure("Values of both sides", "filled: candidate; line: reference", _histograms(look))
        if look.edges.size
        else None,
        _figure("Ten worst elements" if len(look.worst) > 1 else "Worst element", "", _worst(look), "table"),
        class_="looks",
    )


def _figure(title: str, remark: str, content: Markup, kind: str | None = None) -> Markup:
    return tag("figure", tag("figcaption", tag("h3", title), tag("span", remark, class_="soft")), content, class_=kind)


def _brightest(image: NDArray[np.float64]) -> float:
    finite = image[np.isfinite(image)]
    return float(finite.max(initial=0.0))


def _image(look: Look) -> Markup:
    image, largest = look.image, _brightest(look.image)
    scaled = np.clip(np.nan_to_num(image / largest if largest > 0 else image, posinf=0.0), 0.0, 1.0)
    pixels = np.rint(np.sqrt(scaled) * (_EMPTY - 1)).astype(np.uint8)  # small errors shall be seen, too
    pixels[image == NOTHING] = _EMPTY
    pixels[np.isinf(image)] = _INFINITE
    address = png_address(_png(pixels))
    rows, columns = image.shape
    words = f"Absolute error of {look.image_of}, at most {look.error:.3g}; infinite errors are red"
    return tag(
        "img", src=address, alt=words, title=words, style=f"--shape:{columns}/{rows}", width=columns, height=rows
    )


def _png(pixels: NDArray[np.uint8]) -> bytes:
    """Return an image of places in the palette as a PNG file."""
    rows, columns = pixels.shape
    at = np.linspace(0, 2, _EMPTY)
    colours = np.stack([np.interp(at, [0, 1, 2], _COLOURS[:, channel]) for channel in range(3)], axis=1)
    palette = np.vstack([colours, [[128, 128, 128], [220, 30, 40]]]).astype(np.uint8).tobytes()
    clear = bytes([255] * _EMPTY + [0, 255])
    lines = np.hstack([np.zeros((rows, 1), np.uint8), pixels]).tobytes()
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", palette),
        (b"tRNS", clear),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    written = (
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def _scatter(look: Look) -> Markup:
    finite = np.isfinite(look.reference) & np.isfinite(look.candidate)
    known = np.concatenate([look.reference[finite], look.candidate[finite]])
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    span = high - low if math.isfinite(high - low) and high > low else 1.0

    def place(values: NDArray[np.float64], flip: bool) -> list[int]:
        share = np.clip(np.nan_to_num((values - low) / span, nan=0.5, posinf=1.0, neginf=0.0), 0.0, 1.0)
        at = np.rint(PAD + (1.0 - share if flip else share) * (SIZE - 2 * PAD))
        return [int(item) for item in at]

    with np.errstate(all="ignore"):
        spots = list(zip(place(look.reference, False), place(look.candidate, True), finite.tolist(), strict=True))
    words = f"{len(spots)} elements: reference to the right, candidate upwards, both from {low:.3g} to {high:.3g}"
    beyond = "; red: no finite number on a side" if not finite.all() else ""
    return tag(
        "svg",
        tag("title", words + beyond),
        tag("rect", class_="frame", x=0.5, y=0.5, width=SIZE - 1, height=SIZE - 1),
        tag("line", class_="even", x1=PAD, y1=SIZE - PAD, x2=SIZE - PAD, y2=PAD),
        *(
            tag(
                "path",
                class_=name,
                d="".join(f"M{x} {y}h0" for x, y in dict.fromkeys((x, y) for x, y, good in spots if good is kind)),
            )
            for kind, name in ((True, "dot"), (False, "dot far"))
            if any(good is kind for _, _, good in spots)
        ),
        viewBox=f"0 0 {SIZE} {SIZE}",
        role="img",
    )


def _histograms(look: Look) -> Markup:
    peak = max(int(side.max()) for side in look.counts) or 1
    step = (2 * SIZE - 2 * PAD) / (look.edges.size - 1)

    def outline(counts: NDArray[np.int64]) -> str:
        heights = [(HEIGHT - 18) - round(float(count) / peak * (HEIGHT - 24)) for count in counts]
        return "".join(f"V{height}H{PAD + (index + 1) * step:.0f}" for index, height in enumerate(heights))

    candidate, expected = (f"M{PAD} {HEIGHT - 18}{outline(side)}V{HEIGHT - 18}" for side in look.counts)
    low, high = float(look.edges[0]), float(look.edges[-1])
    return tag(
        "svg",
        tag("title", f"How often values from {low:.3g} to {high:.3g} occur in candidate and reference"),
        tag("path", class_="made", d=candidate + "z"),
        tag("path", class_="expected", d=expected),
        tag("text", f"{low:.3g}", x=PAD, y=HEIGHT - 4),
        tag("text", f"{high:.3g}", x=2 * SIZE - PAD, y=HEIGHT - 4, text_anchor="end"),
        viewBox=f"0 0 {2 * SIZE} {HEIGHT}",
        role="img",
    )


def _worst(look: Look) -> Markup:
    head = tag("tr", *(tag("th", text, scope="col") for text in ("Index", "Candidate", "Reference", "Difference")))
    rows: list[Any] = [
        tag(
            "tr",
            *(
                tag("td", text)
                for text in (
                    ", ".join(map(str, item.index)) or "–",
                    f"{item.candidate:.6g}",
                    f"{item.reference:.6g}",
                    figure(item.error),
                )
            ),
        )
        for item in look.worst
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows))
    return scrolling(table, "worst", aria_label="Worst elements")
