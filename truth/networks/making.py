"""Writes the files of all networks, and what is true of each pair before polycmp is asked.

The noise of a file is the root mean square of its error, as a share of the standard deviation of the network's outputs,
in ONNX Runtime without optimisations; the effect of a fault is how far it moves what the sound file of the same tool
makes. A sound file is *clean* up to the noise that `Tool.clean` says, *ruined* from a half on, and between these
anything may be said of it. A fault *shows* if its effect is four times the noise of the tool's file, and in float32 ten
times that of ONNX Runtime's optimisations; from the noise on, anything may be said; below that it is *hidden*: a
pass is excused, and so is leaving it open.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from truth.networks.architectures import NETWORKS, export
from truth.networks.faults import faults_of
from truth.networks.tools import TOOLS, Feed, Tool

CLEAN, RUINED, SHOWS, HIDDEN, ANY = "clean", "ruined", "shows", "hidden", "any answer"
NO_FAULT, EXACT = "none", "float32"
#: Noise from which on a file is of no use; factors of the noise for faults that show (choices).
_RUINED, _SHOWS, _SHOWS_EXACTLY = 0.5, 4.0, 10.0
#: The least noise: that of a rounding of float32.
_LEAST = 1e-7


@dataclass(frozen=True)
class Case:
    """A pair of files, and what is true of it.

    Attributes:
        network: The network.
        tool: The tool that made the first file.
        fault: What is wrong with it.
        made: The first file.
        source: The second.
        truth: One of `CLEAN`, `RUINED`, `SHOWS`, `HIDDEN` and `ANY`.
        effect: Of the fault; without one the noise.
        noise: Of the tool's file without a fault.
        tensors: What the wrong operators make.
    """

    network: str
    tool: str
    fault: str
    made: str
    source: str
    truth: str
    effect: float
    noise: float
    tensors: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Tells it from others."""
        return f"{self.network}/{self.tool}/{self.fault}"


def make_all(folder: Path, only: str = "") -> list[Case]:
    """Write all files, and return the pairs.

    Args:
        folder: Where they go.
        only: Which networks, as a regular expression.
    """
    cases: list[Case] = []
    for name in filter(re.compile(only).search, NETWORKS):
        place = folder / name
        place.mkdir(parents=True, exist_ok=True)
        cases += _cases(name, export(name, place), place)
        print(f"{name}: {len(cases)} pairs so far", flush=True)
    (folder / "cases.json").write_text(json.dumps([asdict(case) for case in cases]))
    return cases


def _cases(name: str, source: Path, folder: Path) -> Iterator[Case]:
    feed = dict(np.load(folder / "x.npz"))
    feeds = [feed, *(_drawn(feed, seed) for seed in range(1, 8))]
    exact = [_run(source, item) for item in feeds]
    optimised = max(
        _distance(_run(source, item, optimise=True), right) for item, right in zip(feeds, exact, strict=True)
    )
    yield Case(name, EXACT, NO_FAULT, str(source), str(source), CLEAN, optimised, optimised)
    faulty = {}
    for fault in faults_of(onnx.load(source)):
        path = _path(folder, EXACT, fault.name)
        onnx.save(fault.model, path)
        faulty[fault.name] = path, tuple(fault.tensors)
        effect, noise = _distance(_run(path, feed), exact[0]), max(optimised, _LEAST)
        truth = _truth(effect, noise, _SHOWS_EXACTLY)
        yield Case(name, EXACT, fault.name, str(path), str(source), truth, effect, noise, tuple(fault.tensors))
    for tool in TOOLS:
        path = _path(folder, tool.name, NO_FAULT)
        if not _made(tool, source, path, feeds):
            continue
        right = _run(path, feed)
        noises = [_distance(_run(path, item), other) for item, other in zip(feeds, exact, strict=True)]
        noise, whole = noises[0], float(np.sqrt(np.mean(np.square(noises))))
        is_clean = whole <= tool.clean and noise <= 1.3 * tool.clean
        truth = CLEAN if is_clean else RUINED if min(noise, whole) > _RUINED else ANY
        yield Case(name, tool.name, NO_FAULT, str(path), str(source), truth, noise, noise)
        for what in tool.faults:
            bad = _path(folder, tool.name, what)
            if what in faulty and _made(tool, faulty[what][0], bad, feeds):
                effect = _distance(_run(bad, feed), right)
                truth = _truth(effect, max(noise, _LEAST), _SHOWS)
                yield Case(name, tool.name, what, str(bad), str(source), truth, effect, noise, faulty[what][1])


def _truth(effect: float, noise: float, shows: float) -> str:
    return SHOWS if effect >= shows * noise else ANY if effect >= noise else HIDDEN


def _path(folder: Path, tool: str, fault: str) -> Path:
    words = f"{tool} {'' if fault == NO_FAULT else fault}".replace(",", "").split()
    return folder / f"{'_'.join(words)}.onnx"


def _made(tool: Tool, source: Path, target: Path, feeds: Sequence[Feed]) -> bool:
    """Return whether a tool can make a file that ONNX Runtime runs."""
    try:
        tool.make(source, target, feeds)
        _run(target, feeds[0])
    except Exception as error:  # noqa: BLE001 - whatever a tool does not do is no answer of polycmp's
        print(f"{target} is not made: {type(error).__name__}: {str(error)[:120]}", flush=True)
        target.unlink(missing_ok=True)
        return False
    return True


def _drawn(feed: Feed, seed: int) -> Feed:
    """Return other inputs of the same kind."""
    random = np.random.default_rng(seed)
    made: dict[str, NDArray[Any]] = {}
    for name, value in feed.items():
        if name == "mask":
            made[name] = value
        elif value.dtype.kind == "i":
            made[name] = random.integers(value.min(), value.max() + 1, value.shape).astype(value.dtype)
        else:
            drawn = random.standard_normal(value.shape)
            made[name] = (drawn.cumsum(1) if name == "series" else drawn).astype(value.dtype)
    return made


def _run(path: Path, feed: Feed, *, optimise: bool = False) -> list[NDArray[np.float64]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimise:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    half = {item.name for item in session.get_inputs() if item.type == "tensor(float16)"}
    fed = {name: value.astype(np.float16) if name in half else value for name, value in feed.items()}
    return [np.asarray(item, np.float64) for item in session.run(None, fed)]


def _distance(made: Sequence[NDArray[np.float64]], right: Sequence[NDArray[np.float64]]) -> float:
    return max(float(np.sqrt(np.mean((a - b) ** 2)) / b.std()) for a, b in zip(made, right, strict=True))
