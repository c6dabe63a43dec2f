"""Tools that rewrite files, on other people's models: does the rewritten file compute what the file does?

    python -m truth.outside.optimiser_tools [--data FOLDER] [--tools NAME...] [--output FILE]

The models are the one-node models that the package `onnx` brings, each as it is and *frozen*, with its inputs as
constants, which tools fold; and ONNX Runtime's tests of its optimisers, where the variable ORT_OPTIMISER_FILES names
them. Each tool, in the newest release and in an environment of its own, rewrites all of them (`tool_loop.py`, without
polycmp). `polycmp suite` then compares each with its source in ONNX Runtime without optimisers. The page is
docs/outside/optimiser-tools.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from polycmp.json import save_json
from polycmp.testing.nodes import NodeCase, node_cases
from truth.history.environments import ROOT, Environment, NotMadeError, make
from truth.outside.looping import ask_each
from truth.outside.ort_optimiser import VARIABLE, copy_files
from truth.table import machine, markdown_table, write_page

PAGE = ROOT / "docs" / "outside" / "optimiser-tools.md"
_WORK = ROOT / ".cache" / "truth-outside" / "optimiser-tools"
_ONNX = ("onnx==1.23.2", "protobuf==7.36.2", "ml_dtypes==0.5.4")
#: Each tool with what its environment has.
TOOLS: Mapping[str, tuple[str, ...]] = {
    "onnxslim": ("onnxslim==0.1.98", *_ONNX),
    "onnxsim": ("onnxsim==0.8.1", "onnxruntime==1.32.0", *_ONNX),
    "onnxoptimizer": ("onnxoptimizer==0.4.2", *_ONNX),
    "onnxscript": ("onnxscript==0.7.2", "onnx_ir==1.1.0", *_ONNX),
}
STATES = ("passed", "failed", "undecided", "blind", "error")
_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
_RANDOM = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
#: Seconds after which a file, all files of a tool, and all comparisons are given up.
_FILE, _REWRITING, _ALL = 60, 1200, 1800
#: Input that is added to what is frozen, so that the model has one.
_ADDED = "polycmp_added"

#: What was read in the files by hand.
_READ = """What was read in the files by hand, on 2026-11-27:

- onnxscript writes a CastLike to 8 bits as a Cast and leaves `saturate = 0` away, so that numbers beyond the type
  become its largest one in place of NaN or infinity (8 models). It gives Reshape an `allowzero` in operator sets that
  do not have it, and writes a Gemm that set 6 does not take: ONNX Runtime refuses both files.
- onnxscript folds a Resize of constants with `align_corners` by the evaluator of `onnx`, which answers otherwise than
  ONNX Runtime and OpenVINO do (2 models), and a DFT by the same, which is nearer to float64 than ONNX Runtime's. Its
  folded MaxUnpool is right, and ONNX Runtime's own answer is not.
- onnxslim and onnxscript fold a Dropout that is in training mode, and draws numbers, into constants.
- onnxslim writes six files that ONNX Runtime does not load, most with graphs inside (Loop, If)."""


@dataclass(frozen=True)
class Answer:
    """What became of a file.

    Attributes:
        state: As `polycmp suite` says it; `refused` where the tool wrote none.
        reason: Why, in words.
    """

    state: str
    reason: str


def write_models(folder: Path, data: str) -> list[str]:
    """Write all models and inputs, and return the names of the files that have one or the other."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if data:
        copy_files(Path(data), folder / "optimiser")
    for case in node_cases():
        arrays = [*case.feed.values(), *case.expected.values()]
        if case.model.graph.node[0].op_type in _RANDOM or any(array.dtype == object for array in arrays):
            continue
        _write(folder / "node" / case.name, case.model, case.feed)
        frozen = freeze(case)
        if frozen is not None:
            _write(folder / "frozen" / case.name, frozen, {_ADDED: np.ones((), np.float32)})
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))


def _write(path: Path, model: onnx.ModelProto, feed: Mapping[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    onnx.save(model, f"{path}.onnx")
    save_json([dict(feed)], f"{path}.in.json")


def freeze(case: NodeCase) -> onnx.ModelProto | None:
    """Return a one-node model with its inputs as constants and one number added to its outputs of float32.

    None where there is no such output.
    """
    floats = [
        item.name
        for item in case.model.graph.output
        if item.type.tensor_type.elem_type == TensorProto.FLOAT and item.name in case.expected
    ]
    if not floats or not case.feed:
        return None
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    graph = model.graph
    del graph.input[:], graph.output[:]
    graph.initializer.extend(numpy_helper.from_array(np.asarray(array), name) for name, array in case.feed.items())
    graph.input.append(helper.make_tensor_value_info(_ADDED, TensorProto.FLOAT, []))
    for name in floats:
        graph.node.append(helper.make_node("Add", [name, _ADDED], [f"{name}_added"]))
        shape = np.shape(case.expected[name])  # tools ask outputs for one
        graph.output.append(helper.make_tensor_value_info(f"{name}_added", TensorProto.FLOAT, shape))
    return model


def rewrite(interpreter: Path, tool: str, names: Sequence[str], source: Path, target: Path) -> dict[str, str]:
    """Have a tool rewrite files, and return why it does not, by name; where it dies, it goes on behind that file."""
    shutil.rmtree(target, ignore_errors=True)
    script = Path(__file__).with_name("tool_loop.py")
    said = ask_each([str(interpreter), str(script), tool, str(source), str(target)], names, _REWRITING)
    return {name: str(item["refused"]) for name, item in said.items() if "refused" in item}


def compare(names: Sequence[str], source: Path, target: Path) -> dict[str, Answer]:
    """Compare rewritten files with their sources, by name."""
    cases = []
    for name in names:
        old, new, inputs = source / name, target / name, (source / name).with_suffix(".in.json")
        lines = [f"name = {json.dumps(name)}", f"model = {json.dumps(str(new))}"]
        sides = ["onnxrt:optimization=off,name=new", f"onnxrt:optimization=off,name=old,model={old}"]
        lines += [f"backend = {json.dumps(sides)}"]
        lines += [f"load-inputs = [{json.dumps(str(inputs))}]"] if inputs.exists() else []
        cases.append("[[case]]\n" + "\n".join(lines) + "\n")
    suite, report = _WORK / "suite.toml", _WORK / "report.json"
    head = f'[defaults]\ntimeout = {_FILE}\nallow-blind = true\nnan = "equal"\ninfinities-compare-equal = true\n'
    suite.write_text("\n".join([head, *cases]), "utf-8")
    report.unlink(missing_ok=True)
    words = [sys.executable, "-m", "polycmp", "suite", str(suite), "-j", "auto", "-q", "--keep", "1"]
    words += ["--results", str(_WORK / "results"), "--report", str(report)]
    subprocess.run(words, stdout=subprocess.DEVNULL, timeout=_ALL, check=False)
    document = json.loads(report.read_text("utf-8"))
    return {case["case"]: Answer(case["state"], " ".join(str(case["reason"]).split())) for case in document["cases"]}


def page(answers: Mapping[str, Mapping[str, Answer]], count: int) -> str:
    """Return the whole page."""
    states = ("refused", *STATES)
    rows = []
    for tool, said in answers.items():
        counts = Counter(answer.state for answer in said.values())
        release = TOOLS[tool][0].replace("==", " ")
        rows.append([release, *(counts[state] for state in states)])
    shown = [
        [tool, name, answer.state.upper(), answer.reason[:160].replace("|", "\\|")]
        for tool, said in answers.items()
        for name, answer in sorted(said.items())
        if answer.state in {"failed", "undecided"}
    ]
    unread = [
        [tool, name, answer.reason[:160].replace("|", "\\|")]
        for tool, said in answers.items()
        for name, answer in sorted(said.items())
        if answer.state == "error"
    ]
    return f"""# Tools that rewrite files, on other people's models

Written by `make truth-outside` ([how](../../truth/README.md#truth-that-is-not-of-our-making)). {machine()}.

{count} models: the one-node models of the package `onnx`, as they are (`node`) and with their inputs as constants
(`frozen`), and ONNX Runtime's tests of its optimisers (`optimiser`). Each tool rewrote them in its newest release;
`polycmp suite` compared each file with its source in ONNX Runtime without optimisers, with no tolerance typed. Files
that ONNX Runtime does not run before they are rewritten are left out.

{markdown_table(["tool", *states[:-1], "not run any more"], rows)}

{_READ}

## What is not equal

{markdown_table(["tool", "model", "verdict", "why"], shown) if shown else "Nothing."}

## What ONNX Runtime does not run any more

{markdown_table(["tool", "model", "why"], unread) if unread else "Nothing."}
"""


def _runnable(names: Sequence[str], source: Path) -> list[str]:
    """Return the files that ONNX Runtime runs."""
    said = compare(names, source, source)
    return [name for name in names if said[name].state != "error"]


def main(words: Sequence[str]) -> int:
    """Have all tools rewrite all models and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.optimiser_tools",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", default=os.environ.get(VARIABLE, ""), help=f"the folder; by default {VARIABLE}")
    parser.add_argument("--tools", nargs="*", default=list(TOOLS), choices=list(TOOLS), help="the tools")
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    _WORK.mkdir(parents=True, exist_ok=True)
    source = _WORK / "source"
    names = _runnable(write_models(source, options.data if Path(options.data).is_dir() else ""), source)
    answers: dict[str, dict[str, Answer]] = {}
    for tool in options.tools:
        try:
            interpreter = make(Environment(TOOLS[tool], _PYTHON))
        except NotMadeError as error:
            print(f"{tool}: left out, since it cannot be installed here: {error}")
            continue
        target = _WORK / tool
        refused = rewrite(interpreter, tool, names, source, target)
        said = compare([name for name in names if name not in refused], source, target)
        answers[tool] = {name: Answer("refused", why) for name, why in refused.items()} | said
        print(tool, Counter(answer.state for answer in answers[tool].values()), flush=True)
    if not answers:
        print("no tool could be installed: is there an index for pip?")
        return 3
    write_page(options.output, page(answers, len(names)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
