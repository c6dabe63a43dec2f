"""The one-node models of the package `onnx` in several runtimes: error in ULP against float64, verdict, refusals.

    python -m truth.outside.ulp [--runtimes NAME...] [--output FILE]

The truth of a case is what the backend `onnx` computes in float64, where that agrees with the output that comes with
the case; else that output. Each runtime runs the cases as a suite in an environment of its own below
.cache/truth-history, beside the file with the truth, and the error is taken from the outputs that it saved. The page is
docs/outside/ulp.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from polycmp.comparator import RunResults
from polycmp.json import load_json, save_json
from polycmp.testing.nodes import NodeCase, node_cases
from polycmp_onnx.runner import ReferenceRunner
from truth.history.environments import ROOT, Environment, NotMadeError, make
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "ulp.md"
_WORK = ROOT / ".cache" / "truth-outside" / "ulp"
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_ONNX, _PROTOBUF = "onnx==1.23.2", "protobuf==7.36.2"
#: What draws its outputs at random, so that there is no truth.
_RANDOM = (
    "Bernoulli",
    "Dropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
)
_SECONDS, _ALL = 60, 3600
#: Ending of the models converted to LiteRT.
_LITE = ".tflite"
#: The converter to LiteRT, which asks for Python 3.12, and what that needs.
_CONVERTER = (
    *("onnx2tf==2.6.9", "ai-edge-litert==2.1.2", "flatbuffers==25.12.19", "h5py==3.14.0"),
    *("ml-dtypes==0.5.4", "onnx==1.20.1", "onnxoptimizer==0.4.2", "onnxruntime==1.26.0", "onnxscript==0.6.2"),
    *("onnx-ir==1.1.0", "onnxsim==0.6.5", "opencv-python-headless==4.13.0.92", "protobuf==7.35.1", "psutil==7.2.2"),
    *("sne4onnx==2.0.1", "sng4onnx==2.0.1", "tqdm==4.67.1"),
)


@dataclass(frozen=True)
class Runtime:
    """A release of a runtime.

    Attributes:
        name: Name and release.
        backend: The backend that runs it.
        packages: What its environment has of its own.
        ending: Ending of the files that it is given.
    """

    name: str
    backend: str
    packages: tuple[str, ...]
    ending: str = ".onnx"


RUNTIMES = (
    Runtime("ONNX Runtime 1.32.0", "onnxrt", ("onnxruntime==1.32.0", _ONNX, _PROTOBUF)),
    Runtime("ONNX Runtime 1.31.1", "onnxrt", ("onnxruntime==1.31.1", _ONNX, _PROTOBUF)),
    Runtime("OpenVINO 2026.4.1", "openvino", ("openvino==2026.4.1", _ONNX, _PROTOBUF)),
    Runtime("OpenVINO 2026.3.1", "openvino", ("openvino==2026.3.1", _ONNX, _PROTOBUF)),
    Runtime(
        "PyTorch 2.13.0",
        "torch",
        ("torch==2.13.0", "torchvision==0.28.0", "onnx2pytorch==0.6.0", "pillow", _ONNX, _PROTOBUF),
    ),
    Runtime("LiteRT 2.3.0", "tf", ("ai-edge-litert==2.3.0", _ONNX, _PROTOBUF), _LITE),
    Runtime("LiteRT 2.2.0", "tf", ("ai-edge-litert==2.2.0", _ONNX, _PROTOBUF), _LITE),
    Runtime("onnx 1.23.2", "onnx", (_ONNX, _PROTOBUF)),
    Runtime("onnx 1.22.0", "onnx", ("onnx==1.22.0", _PROTOBUF)),
)


@dataclass(frozen=True)
class Truth:
    """What a case has to give.

    Attributes:
        operator: Type of its node.
        outputs: Arrays by output.
        is_exact: Whether they were computed in float64, and not taken from the case.
    """

    operator: str
    outputs: Mapping[str, Any]
    is_exact: bool


@dataclass(frozen=True)
class Answer:
    """What a runtime made of a case.

    Attributes:
        state: As `polycmp suite` says it.
        reason: Why, in words.
        ulp: The largest error in units of the last place; None where no output is a real number, or there is none.
    """

    state: str
    reason: str
    ulp: float | None


def write_cases(folder: Path) -> dict[str, Truth]:
    """Write model, inputs and truth of each case, and return the truths."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    truths = {}
    for case in node_cases():
        operator = case.model.graph.node[0].op_type
        arrays = [*case.feed.values(), *case.expected.values()]
        if operator in _RANDOM or any(array.dtype == object for array in arrays):
            continue
        truths[case.name] = truth = _truth(case, operator)
        (folder / f"{case.name}.onnx").write_bytes(case.model.SerializeToString())
        save_json([case.feed], str(folder / f"{case.name}.in.json"))
        results = RunResults()
        results.add([dict(truth.outputs)], runner_name="truth")
        results.save(str(folder / f"{case.name}.truth.json"))
    return truths


def _truth(case: NodeCase, operator: str) -> Truth:
    """Return what a case has to give: in float64 where that agrees with what comes with it."""
    try:
        with warnings.catch_warnings(), ReferenceRunner(case.model, dtype="float64") as runner:
            warnings.simplefilter("ignore")
            exact = {name: np.asarray(value) for name, value in runner.infer(dict(case.feed)).items()}
    except Exception:  # noqa: BLE001 - it cannot be computed so, and what comes with the case stands
        return Truth(operator, case.expected, False)
    for name, expected in case.expected.items():
        found, wanted = exact.get(name), np.asarray(expected)
        if found is None or found.shape != wanted.shape:
            return Truth(operator, case.expected, False)
        is_close = np.allclose(
            found.astype(np.float64), wanted.astype(np.float64), case.rtol, case.atol, equal_nan=True
        )
        if not is_close:
            return Truth(operator, case.expected, False)
    # What is no real number, or is rounded on purpose (a Cast, a quantised output), is taken from the case.
    outputs = {
        name: exact[name] if exact[name].dtype == np.float64 and np.asarray(wanted).dtype.kind == "f" else wanted
        for name, wanted in case.expected.items()
    }
    return Truth(operator, outputs, True)


def ask(runtime: Runtime, folder: Path, truths: Mapping[str, Truth]) -> dict[str, Answer]:
    """Run all cases with a runtime.

    Raises:
        NotMadeError: It cannot be installed here.
    """
    interpreter = make(Environment(runtime.packages, _PYTHON))
    suite, saved = folder / "suite.toml", folder / "saved"
    shutil.rmtree(saved, ignore_errors=True)
    saved.mkdir()
    if runtime.ending == _LITE and not any(folder.glob(f"*{_LITE}")):
        _convert(folder, list(truths))
    given = [name for name in truths if (folder / f"{name}{runtime.ending}").exists()]
    cases = (
        f'[[case]]\nname = "{name}"\nmodel = "{name}{runtime.ending}"\nload-inputs = ["{name}.in.json"]\n'
        f'load-outputs = ["{name}.truth.json"]\nsave-outputs = "saved/{name}.json"\n'
        'allow-blind = true\nnan = "equal"\ninfinities-compare-equal = true\n'
        for name in given
    )
    suite.write_text(
        "\n".join([f'[defaults]\nbackend = ["{runtime.backend}"]\ntimeout = {_SECONDS}\n', *cases]), "utf-8"
    )
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    words = [str(interpreter), "-m", "polycmp", "suite", "suite.toml", "-j", "auto", "-q", "--keep", "1"]
    environ = {**os.environ, "ALLOW_RELEASED_ONNX_OPSET_ONLY": "0"}
    subprocess.run(
        [*words, "--report", "report.json"],
        cwd=folder,
        env=environ,
        stdout=subprocess.DEVNULL,
        timeout=_ALL,
        check=False,
    )
    said = {case["case"]: case for case in json.loads(report.read_text("utf-8"))["cases"]}
    answers = {name: Answer("error", "the converter makes no file of it", None) for name in truths}
    for name in given:
        answers[name] = Answer(said[name]["state"], said[name]["reason"], _ulp(saved / f"{name}.json", truths[name]))
    return answers


def _convert(folder: Path, names: Sequence[str]) -> None:
    """Convert cases to LiteRT; of those that the converter refuses there is no file then.

    Raises:
        NotMadeError: The converter cannot be installed here.
    """
    interpreter = make(Environment(_CONVERTER, "3.12", "numpy==2.2.6"))
    words = [str(interpreter), str(Path(__file__).with_name("lite_loop.py")), str(folder)]
    subprocess.run(
        words, input=json.dumps(names), text=True, capture_output=True, cwd=folder, timeout=_ALL, check=False
    )


def _ulp(path: Path, truth: Truth) -> float | None:
    """Return the largest error of saved outputs."""
    if not path.exists():
        return None
    found = next(iter(load_json(str(path)).values()))[0]
    errors = [
        ulp_error(np.asarray(found[name]), np.asarray(wanted))
        for name, wanted in truth.outputs.items()
        if name in found and np.asarray(found[name]).dtype.kind == "f"
    ]
    return max(errors, default=None)


def ulp_error(found: np.ndarray[Any, Any], truth: np.ndarray[Any, Any]) -> float:
    """Return the largest difference, in distances between neighbours of the true value in the type of what was found.

    Infinity where a shape differs, or where one is no number, or infinite, and the other is not.
    """
    if found.shape != truth.shape:
        return math.inf
    if not found.size:
        return 0.0
    with np.errstate(all="ignore"):
        rounded = truth.astype(found.dtype)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        gaps = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - truth.astype(np.float64)) / gaps
    error = np.where(same & ~np.isfinite(error), 0.0, np.where(np.isnan(error), math.inf, error))
    return float(error.max())


def page(asked: Mapping[str, Mapping[str, Answer]], truths: Mapping[str, Truth]) -> str:
    """Return the whole page."""
    exact = sum(truth.is_exact for truth in truths.values())
    everything = len(node_cases())
    return f"""# Runtimes over ONNX's one-node models, in ULP

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

{len(truths)} one-node models of the package `onnx` (of {everything} with tensors alone; those with texts or random
outputs are left out), with the inputs that come with them. {exact} have a truth in float64, computed by the backend
`onnx` and equal to the output that comes with the case within its tolerance; of the others that output is the truth.
One ULP is the distance between the true value and its neighbour in the type of the output. Near zero a sum of rounded
terms is many ULP off and still right: the verdict is polycmp's, which measures what rounding explains. The columns
`onnx` are the backend `onnx`: the reference evaluator of that release, with polycmp's corrections. PyTorch is the
backend `torch`: the file converted by onnx2pytorch 0.6.0; what is FAILED there is a converter's before it is PyTorch's.
LiteRT is the backend `tf`: the file converted by onnx2tf 2.6.9 without TensorFlow, of which the same holds. It leaves
operators whose weights are inputs to an operator of its own, which LiteRT refuses, and puts the channels of some
outputs last, which makes another shape, and is most of what is FAILED there.

{markdown_table(["", *asked], _summary(asked))}

## By operator

The largest error in ULP over the cases that are PASSED (`equal` where no output is a real number); then how many are
FAILED, UNDECIDED (`?`) and refused (`–`).

{markdown_table(["operator", "cases", *asked], _operators(asked, truths))}

## Not as the standard has it

Each case that is FAILED or UNDECIDED, in a release of a runtime.

{markdown_table(["case", "runtime", "verdict", "ULP", "polycmp says"], _wrong(asked))}

## To be looked at

Cases that are PASSED although an output is infinite, or no number, where the truth is a number, or the other way round:

{_infinite(asked)}
"""


def _summary(asked: Mapping[str, Mapping[str, Answer]]) -> Iterable[Sequence[object]]:
    for state, title in (("passed", "PASSED"), ("failed", "FAILED"), ("undecided", "UNDECIDED"), ("error", "refused")):
        yield [title, *(sum(item.state == state for item in of.values()) for of in asked.values())]
    for limit in (0.5, 1, 4, 64):
        yield [f"PASSED within {limit:g} ULP", *(_within(of.values(), limit) for of in asked.values())]


def _within(answers: Iterable[Answer], limit: float) -> str:
    measured = [item.ulp for item in answers if item.state == "passed" and item.ulp is not None]
    return f"{sum(ulp <= limit for ulp in measured)} of {len(measured)}"


def _operators(asked: Mapping[str, Mapping[str, Answer]], truths: Mapping[str, Truth]) -> Iterable[Sequence[object]]:
    names: dict[str, list[str]] = {}
    for name, truth in truths.items():
        names.setdefault(truth.operator, []).append(name)
    for operator, cases in sorted(names.items()):
        yield [operator, len(cases), *(_cell([of[name] for name in cases]) for of in asked.values())]


def _cell(answers: Sequence[Answer]) -> str:
    states = Counter(item.state for item in answers)
    right = [item.ulp for item in answers if item.state == "passed" and item.ulp is not None]
    parts = [f"{max(right):.3g}" if right else "equal" if states["passed"] else ""]
    parts += [f"**{states['failed']} FAILED**"] if states["failed"] else []
    parts += [f"{states['undecided']}?"] if states["undecided"] else []
    parts += [f"{states['error']}–"] if states["error"] else []
    return " ".join(filter(None, parts))


def _wrong(asked: Mapping[str, Mapping[str, Answer]]) -> Iterable[Sequence[object]]:
    found = [(name, runtime, item) for runtime, of in asked.items() for name, item in of.items()]
    for name, runtime, item in sorted(found, key=lambda row: row[:2]):
        if item.state in ("failed", "undecided"):
            ulp = "" if item.ulp is None else f"{item.ulp:.3g}"
            reason = " ".join(item.reason.split()).replace("|", "\\|")
            yield [name, runtime, item.state.upper(), ulp, reason[:140] + ("…" if len(reason) > 140 else "")]


def _infinite(asked: Mapping[str, Mapping[str, Answer]]) -> str:
    """Return a list of what passed with an error that no ULP measures."""
    found: dict[str, list[str]] = {}
    for runtime, answers in asked.items():
        for name, item in answers.items():
            if item.state == "passed" and item.ulp == math.inf:
                found.setdefault(name, []).append(runtime)
    return "\n".join(f"- {name}: {', '.join(runtimes)}" for name, runtimes in sorted(found.items())) or "None."


def main(words: Sequence[str]) -> int:
    """Ask every runtime and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.ulp", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runtimes", nargs="*", default=[""], help="parts of the names of runtimes")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    truths = write_cases(_WORK)
    print(
        f"{len(truths)} cases, {sum(truth.is_exact for truth in truths.values())} with a truth in float64", flush=True
    )
    asked = {}
    for runtime in RUNTIMES:
        if not any(part in runtime.name for part in options.runtimes):
            continue
        begun = time.monotonic()
        try:
            asked[runtime.name] = ask(runtime, _WORK, truths)
        except NotMadeError as error:
            print(f"{runtime.name}: left out, since it cannot be installed here: {error}")
            continue
        counts = Counter(item.state for item in asked[runtime.name].values())
        print(runtime.name, dict(counts), f"{time.monotonic() - begun:.0f} s", flush=True)
    if not asked:
        print("no runtime could be installed: is there an index for pip?")
        return 3
    write_page(options.output, page(asked, truths))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
