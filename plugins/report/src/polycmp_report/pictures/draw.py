"""Drawing pictures of the error with matplotlib's objects; no global state, no window unless asked for."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from polycmp.errors import FileError, PluginError, UsageError, describe_exception
from polycmp.files import atomic_write
from polycmp.spec import Compared, RunObserver
from polycmp.tensors import dtype_class, format_shape, to_numpy
from polycmp_report.pictures.errors import Images, error_images, sample_points, shrink
from polycmp_report.pictures.names import picture_name
from polycmp_report.plugin import PictureOptions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from polycmp.runs import Resolved, RunStep

DPI = 120
#: Share of an image's cell in the grid that is left when titles and ticks have taken theirs.
CELL_SHARE = 0.55


def draw_pictures(_: Resolved, options: PictureOptions) -> ErrorPlots:
    """Make the observer that draws pictures of each pair of outputs.

    Raises:
        PluginError: matplotlib is missing.
        UsageError: Pictures shall be shown where no window can open.
    """
    return ErrorPlots(options)


class ErrorPlots(RunObserver):
    """Draws what the options ask for.

    Args:
        options: Choice of pictures, and their folder.

    Raises:
        PluginError: matplotlib is missing.
        UsageError: Pictures shall be shown where no window can open.
    """

    def __init__(self, options: PictureOptions) -> None:
        self._options = options
        if find_spec("matplotlib") is None:
            raise PluginError(
                "pictures need matplotlib, which is not installed", hint="pip install 'polycmp-report[plot]'"
            )
        if (options.show_heatmaps or options.show_error_plots) and not _has_display():
            raise UsageError(
                "--show-heatmaps, --show-error-metrics-plot: no window can open here",
                why="neither DISPLAY nor WAYLAND_DISPLAY is set",
                hint="save them: --save-heatmaps DIR, --save-error-metrics-plot DIR",
            )

    def on_step(self, step: RunStep) -> None:
        """Draw the pictures of each output; nothing for texts, empty tensors and unequal shapes.

        Raises:
            FileError: A picture cannot be written.
        """
        for pair in step.pairs():
            self.draw(pair)

    def draw(self, pair: Compared) -> None:
        """Draw the pictures of two arrays; raises the errors of `on_step`."""
        left, right = to_numpy(pair.made), to_numpy(pair.expected)
        if (
            left.shape != right.shape
            or not left.size
            or "string" in {dtype_class(left.dtype), dtype_class(right.dtype)}
        ):
            return
        who = f"{pair.candidate} against {pair.reference}"
        title = f"{pair.output} {format_shape(left.shape)} · {who} · iteration {pair.iteration}"
        name = (pair.iteration, pair.candidate, pair.reference, pair.output)
        options = self._options
        if options.heatmaps or options.show_heatmaps:
            images = error_images(left, right)
            for kind in ("absolute", "relative"):
                _finish(
                    lambda figure, kind=kind: _heat_map(figure, images, kind, title),  # type: ignore[misc]
                    options.heatmaps,
                    picture_name(*name, f"{kind}-error"),
                    show=options.show_heatmaps,
                )
        if options.error_plots or options.show_error_plots:
            points = sample_points(left, right)
            _finish(
                lambda figure: _error_plot(figure, points, title),
                options.error_plots,
                picture_name(*name, "error-metrics"),
                show=options.show_error_plots,
            )


def _has_display() -> bool:
    if os.environ.get("MPLBACKEND") or sys.platform in {"win32", "darwin"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _finish(paint: Callable[[Figure], None], folder: str, name: str, *, show: bool) -> None:
    if folder:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure()
        paint(figure)
        try:
            with atomic_write(Path(folder) / name) as file:
                FigureCanvasAgg(figure).print_png(file)
        except ValueError as error:
            raise FileError(f"cannot draw {name}", why=describe_exception(error)) from error
    if show:
        from matplotlib import pyplot

        figure = pyplot.figure()
        paint(figure)
        pyplot.show()
        pyplot.close(figure)


def _heat_map(figure: Figure, images: Images, kind: str, title: str) -> None:
    from matplotlib import colormaps
    from matplotlib.ticker import MaxNLocator

    values = images.absolute if kind == "absolute" else images.relative
    count = len(images.numbers)
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    cell = max(2.2, 7.2 / columns)
    # A pixel of the image must not be smaller than one of the picture, or the drawing would drop some.
    values = shrink(values, int(CELL_SHARE * cell * DPI))
    flat = count == 1 and images.shape[0] <= 4
    figure.set_size_inches(cell * columns + 1.6, 3.2 if flat else cell * rows + 1.2)
    figure.set_dpi(DPI)
    figure.set_layout_engine("constrained")
    colours = colormaps["viridis"].with_extremes(over="red", bad="red", under="white")
    norm = _norm(values, logarithmic=kind == "relative")
    grid = figure.subplots(rows, columns, squeeze=False)
    for axes in grid.flat[count:]:
        axes.set_axis_off()
    for axes, number, image in zip(grid.flat, images.numbers, values, strict=False):
        # Where the scale is logarithmic, exact agreement is its darkest colour, and only "no element" is white.
        shown = np.where((image >= 0) & (image < norm.vmin), norm.vmin, image) if kind == "relative" else image
        drawn = axes.imshow(
            shown, cmap=colours, norm=norm, interpolation="nearest", aspect="auto", extent=_extent(images)
        )
        if count > 1:  # ticks would tell little at that size, and take most of the time
            axes.set_title(f"#{number}", fontsize=8, pad=3)
            axes.set(xticks=[], yticks=[])
            continue
        axes.tick_params(labelsize=7)
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_locator(MaxNLocator(nbins=9, integer=True, min_n_ticks=1))
    figure.colorbar(drawn, ax=grid, extend="max", shrink=0.9).set_label(f"{kind} error (red: infinite or NaN)")
    figure.suptitle(f"{kind.capitalize()} error of {title}{_remark(images, values.shape[1:])}", fontsize=10, wrap=True)


def _extent(images: Images) -> tuple[float, float, float, float]:
    """Return the axes' range in elements, however many elements a pixel covers."""
    rows, columns = images.shape
    return -0.5, columns - 0.5, rows - 0.5, -0.5


def _remark(images: Images, shown: tuple[int, ...]) -> str:
    parts = []
    if images.folded and images.shape[0] > 1:
        parts.append(f"a vector in rows of {images.shape[1]}")
    if images.total > len(images.numbers):
        parts.append(f"{len(images.numbers)} of {images.total} images, those with the largest errors")
    if shown != images.shape:
        parts.append("each pixel shows the largest error below it")
    return "\n" + "; ".join(parts) if parts else ""


def _norm(values: NDArray[np.float64], *, logarithmic: bool) -> Any:
    from matplotlib.colors import LogNorm, Normalize

    finite = values[np.isfinite(values) & (values > 0)]
    if not finite.size:
        return Normalize(0.0, 1.0)
    low, high = float(finite.min()), float(finite.max())
    if logarithmic and low < high:
        return LogNorm(max(low, high * 1e-12), high)
    return Normalize(0.0, high)


def _error_plot(figure: Figure, points: tuple[Any, Any, Any, int], title: str) -> None:
    size, absolute, relative, total = points
    figure.set_size_inches(8, 8)
    figure.set_dpi(DPI)
    figure.set_layout_engine("constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    for axes, errors, kind in ((upper, absolute, "absolute"), (lower, relative, "relative")):
        _scatter(axes, size, errors, f"{kind} error")
    lower.set_xlabel("|reference|")
    remark = f"\n{size.size} of {total} elements, the largest errors among them" if size.size < total else ""
    figure.suptitle(f"Error of {title}{remark}", fontsize=10, wrap=True)


def _scatter(axes: Axes, size: NDArray[np.float64], errors: NDArray[np.float64], label: str) -> None:
    finite = np.isfinite(errors) & np.isfinite(size)
    x, y = size[finite], errors[finite]
    positive = y[y > 0]
    axes.scatter(x, y, s=6 if y.size > 200 else 24, alpha=0.5 if y.size > 200 else 0.9, linewidths=0, rasterized=True)
    if positive.size and positive.max() / positive.min() > 100:
        axes.set_yscale("symlog", linthresh=_threshold(positive))
    if (x > 0).any() and x.max() / x[x > 0].min() > 1000:
        axes.set_xscale("symlog", linthresh=_threshold(x[x > 0]))
    missing = int(errors.size - y.size)
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
    note = f"exactly equal: {int((y == 0).sum())}" + (f" · infinite or NaN: {missing}" if missing else "")
    axes.set_title(note, fontsize=8, loc="right")


def _threshold(values: NDArray[np.float64]) -> float:
    """Return the linear threshold of a logarithmic axis: the smallest value, but at most 9 decades down."""
    return max(float(values.min()), float(values.max()) * 1e-9)
