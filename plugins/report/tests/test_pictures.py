"""Pictures of the error: right for every rank and size, never losing a hot spot, with safe names."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec

import ml_dtypes
import numpy as np
import pytest

from polycmp.errors import PluginError, UsageError
from polycmp.spec import Compared
from polycmp_report.pictures import ErrorPlots
from polycmp_report.pictures.errors import IMAGES, PIXELS, POINTS, error_images, errors_of, sample_points
from polycmp_report.pictures.names import picture_name
from polycmp_report.plugin import PictureOptions

pytestmark = pytest.mark.skipif(find_spec("matplotlib") is None, reason="Matplotlib is not installed")
RNG = np.random.default_rng(0)


def draw(tmp_path, candidate, reference, output="y", iteration=0):
    plots = ErrorPlots(PictureOptions(heatmaps=str(tmp_path), error_plots=str(tmp_path)))
    plots.draw(Compared(iteration, "onnxrt", "onnx", output, candidate, reference))
    return sorted(tmp_path.iterdir())


def pixels_of(path):
    """Return the pixels of a picture; Matplotlib takes half a second to import, so it is done here."""
    from matplotlib.image import imread

    return (imread(path)[..., :3] * 255).round().astype(int)


def colours(path):
    pixels = pixels_of(path)
    return {tuple(map(int, item)) for item in np.unique(pixels.reshape(-1, 3), axis=0)}


class TestErrors:
    """What the pictures are made of."""

    @pytest.mark.parametrize(
        "shape", [(), (1,), (7,), (1000,), (3, 4), (1, 1), (2, 3, 4), (2, 3, 5, 7), (1, 1, 1, 1, 9)]
    )
    def test_every_element_of_a_small_array_is_in_the_images(self, shape):
        reference = RNG.standard_normal(shape).astype(np.float32)
        candidate = np.asarray(reference + RNG.standard_normal(shape).astype(np.float32))
        images = error_images(candidate, reference)
        shown = images.absolute[images.absolute >= 0]
        expected = np.abs(candidate.astype(np.float64) - reference).reshape(-1)
        assert np.array_equal(np.sort(shown), np.sort(expected))

    @pytest.mark.parametrize(
        "shape",
        [
            *(pytest.param(shape, marks=pytest.mark.corpus) for shape in ((3_000_001,), (1500, 2500))),
            *((300, 64, 64), (70_000, 3, 3), (2, 100_000)),
        ],
    )
    @pytest.mark.parametrize("where", [12345, *(pytest.param(place, marks=pytest.mark.corpus) for place in (0, -1))])
    def test_hot_spot_survives_any_reduction(self, shape, where):
        reference = np.ones(shape, np.float32)
        candidate = reference.copy()
        candidate.reshape(-1)[where] = 3
        images = error_images(candidate, reference)
        assert images.absolute.max() == images.relative.max() == 2
        assert images.absolute.shape[0] <= IMAGES
        assert max(images.absolute.shape[1:]) <= PIXELS
        size, absolute, relative, total = sample_points(candidate, reference)
        assert absolute.max() == relative.max() == 2
        assert size.size <= 1.1 * POINTS
        assert total == reference.size

    def test_largest_relative_error_survives_although_it_is_absolutely_small(self):
        reference = np.full((300, 4, 4), 1e6)
        reference[77] = 1e-6
        candidate = reference + RNG.random(reference.shape)
        candidate[77] = reference[77] * 100
        images = error_images(candidate, reference)
        assert 77 in images.numbers
        assert images.relative.max() == pytest.approx(99)

    def test_nan_and_unequal_infinities_are_infinite_errors(self):
        candidate = np.array([np.nan, np.inf, np.inf, 0.0, 1.0])
        reference = np.array([1.0, np.inf, -np.inf, 0.0, 0.0])
        absolute, relative, _ = errors_of(candidate, reference)
        assert absolute.tolist() == [np.inf, 0.0, np.inf, 0.0, 1.0]
        assert relative.tolist() == [np.inf, 0.0, np.inf, 0.0, np.inf]

    @pytest.mark.parametrize("dtype", [np.int64, np.uint64])
    def test_wide_integers_do_not_overflow(self, dtype):
        limits = np.iinfo(dtype)
        absolute, _, _ = errors_of(np.array([limits.max, 2**53 + 1], dtype), np.array([limits.min, 2**53], dtype))
        assert absolute.tolist() == [float(int(limits.max) - int(limits.min)), 1.0]

    @pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.complex64, ml_dtypes.bfloat16])
    def test_every_kind_of_number(self, dtype):
        absolute, _, _ = errors_of(np.array([0, 1, 1], dtype), np.array([0, 1, 0], dtype))
        assert absolute.tolist() == [0.0, 0.0, 1.0]


class TestPictures:
    """The files."""

    @pytest.mark.parametrize(
        "shape", [(), (8,), (1, 10), pytest.param((3, 1200, 2000), marks=pytest.mark.corpus), (2, 3, 16, 16), (0,)]
    )
    def test_any_rank_and_size_is_drawn(self, tmp_path, shape):
        reference = RNG.standard_normal(shape).astype(np.float32)
        files = draw(tmp_path, np.asarray(reference + np.float32(1e-3)), reference)
        assert len(files) == (3 if reference.size else 0)
        for path in files:
            pixels = pixels_of(path)
            assert min(pixels.shape[:2]) > 300
            assert max(pixels.shape[:2]) < 2500

    def test_heat_map_shows_one_bad_element_among_millions(self, tmp_path):
        reference = np.zeros((2000, 2000), np.float32)
        candidate = reference.copy()
        candidate[1234, 567] = np.nan
        absolute = next(path for path in draw(tmp_path, candidate, reference) if "absolute" in path.name)
        pixels = pixels_of(absolute)
        inside = pixels[:, : int(pixels.shape[1] * 0.8)]  # left of the colour bar, which has red in it anyway
        assert (inside == (255, 0, 0)).all(axis=-1).any()

    def test_equal_outputs_are_drawn_without_complaint(self, tmp_path):
        with np.errstate(all="raise"):
            assert len(draw(tmp_path, np.zeros((4, 4)), np.zeros((4, 4)))) == 3

    def test_texts_and_unequal_shapes_are_left_out(self, tmp_path):
        assert not draw(tmp_path, np.array(["a"]), np.array(["b"]))
        assert not draw(tmp_path, np.zeros(3), np.zeros(4))

    def test_no_global_state_of_matplotlib_is_touched(self):
        code = (
            "import sys, numpy as np, tempfile\n"
            "from polycmp.spec import Compared; from polycmp_report.plugin import PictureOptions\n"
            "from polycmp_report.pictures import ErrorPlots\n"
            "assert 'matplotlib' not in sys.modules\n"
            "folder = tempfile.mkdtemp()\n"
            "plots = ErrorPlots(PictureOptions(folder, False, folder))\n"
            "plots.draw(Compared(0, 'a', 'b', 'y', np.ones(8), np.zeros(8)))\n"
            "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
        )
        subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


class TestNames:
    """File names."""

    def test_differ_with_everything_that_tells_pictures_apart(self):
        parts = [
            (0, "a", "b", "y", "k"),
            (1, "a", "b", "y", "k"),
            (0, "c", "b", "y", "k"),
            (0, "a", "c", "y", "k"),
            (0, "a", "b", "z", "k"),
            (0, "a", "b", "Y", "k"),  # file systems may ignore case
            (0, "a", "b", "y/", "k"),
            (0, "a", "b", "y:", "k"),
            (0, "a", "b", "y" * 300, "k"),
            (0, "a", "b", "y" * 301, "k"),
            (0, "a", "b", "", "k"),
            (0, "a", "b", "…", "k"),
        ]
        names = [picture_name(*part).lower() for part in parts]
        assert len(set(names)) == len(parts)

    @pytest.mark.parametrize(
        "output", ["../../etc/passwd", "CON", "nul", "a\x00b", "y" * 1000, "ø/π", ".", 'a b?*|<>"']
    )
    def test_are_safe_on_every_file_system(self, output):
        name = picture_name(3, "onnxrt:threads=1", "C:\\model.onnx", output, "absolute-error")
        assert re.fullmatch(r"[A-Za-z0-9._~-]{1,200}", name)
        assert name.startswith("iteration-000003-")
        assert ".." not in name.replace("...", "")


class TestWindows:
    """Pictures that are shown."""

    @pytest.mark.skipif(sys.platform != "linux", reason="other systems always have a display")
    def test_showing_where_no_window_opens_is_wrong_usage(self, monkeypatch):
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND"):
            monkeypatch.delenv(name, raising=False)
        with pytest.raises(UsageError, match="no window"):
            ErrorPlots(PictureOptions(show_heatmaps=True))

    @pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
    def test_shows_through_pyplot(self, monkeypatch, tmp_path):
        pyplot = pytest.importorskip("matplotlib.pyplot")
        monkeypatch.setenv("MPLBACKEND", "Agg")
        pyplot.switch_backend("Agg")
        shown = []
        monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf().axes[0].get_title))
        plots = ErrorPlots(PictureOptions(show_heatmaps=True, show_error_plots=True))
        plots.draw(Compared(0, "a", "b", "y", np.ones(8), np.zeros(8)))
        assert len(shown) == 3
        assert not pyplot.get_fignums()


def test_missing_matplotlib_is_told_when_asked_for_only(monkeypatch):
    monkeypatch.setattr("polycmp_report.pictures.draw.find_spec", lambda _: None)
    with pytest.raises(PluginError, match="matplotlib"):
        ErrorPlots(PictureOptions(heatmaps="x"))
