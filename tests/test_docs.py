"""Runs every command that README.md and docs/*.md show, and compares what they show with what comes out.

docs/README.md tells authors how to write blocks so that this file can run them.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import onnx
import pytest
from decoders import decoder
from in_process import run_cases_here

from polycmp_onnx.tools.demo_model import make_model, with_fault

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^( *)```([\w-]*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"# (\w[\w./-]*\.\w+)")
STATUS = re.compile(r"\s+# exit (\d+)$")
#: The pages that tests of their own read, by the same kind of check: what they show is not run twice.
TESTED_ELSEWHERE = {
    "writing-a-backend.md": "plugins/pluginref/tests/test_docs.py",
    "writing-a-command.md": "core/tests/builtin/layerwise/test_writing_a_command.py",
}
#: The pages that begin with `polycmp demo`, in an empty folder.
FROM_NOTHING = {"README.md", "start.md"}
#: Pages on tasks with tests of their own on alike commands, each of which takes seconds: they are run with the corpus.
#: `make test` runs the pages that people begin with: README, the first steps, the command line, locating.
LONG = {
    *("changed-models.md", "ci.md", "comparing.md", "debugging.md", "deciding.md", "decoders.md", "dumps.md"),
    *("finding-bugs.md", "generating.md", "mixed-precision.md", "pipelines.md", "suites.md", "tools.md", "tuning.md"),
}
#: Beginnings of the lines in `sh` blocks, which are not run: what they need is not here, or would change this machine.
NOT_RUN = (
    "pip install ",
    "make ",
    "git clone ",
    "python -m venv old",
    "polycmp run model.onnx -b trt",  # TensorRT
    "polycmp inspect capability ",  # TensorRT
    "polycmp inspect diff-tactics ",  # TensorRT
    "polycmp debug build ",  # TensorRT
    "polycmp run int8.onnx float.onnx",  # a detector, and photographs for it
    "polycmp locate int8.onnx float.onnx",  # the same
    "polycmp build model.onnx -b trt",  # TensorRT
    "polycmp run half.onnx model.onnx -b trt",  # TensorRT
    "polycmp locate half.onnx model.onnx -b trt",  # TensorRT
    "polycmp run int8.onnx -b 'onnxrt:providers=[qnn",  # onnxruntime-qnn
    "polycmp locate int8.onnx -b 'onnxrt:providers=[qnn",  # onnxruntime-qnn
    "python3.11 -m venv rknn",
    "rknn/bin/python ",
    "polycmp run model.onnx --dump snapshot/simulator",  # RKNN Toolkit
    "polycmp locate model.onnx --dump snapshot/simulator",  # RKNN Toolkit
    "polycmp run net.py --model-type torch ",  # PyTorch
    "polycmp run finetuned.onnx -b trt",  # TensorRT
    "polycmp run base.onnx -b trt",  # TensorRT
    "polycmp run model.onnx -b openvino",  # OpenVINO
    "polycmp run model.xml -b openvino",  # OpenVINO
    "polycmp locate model.onnx -b openvino",  # OpenVINO
    "polycmp convert model.onnx -o model.xml",  # OpenVINO
    "polycmp run model.onnx -b oip:",  # an inference server, as all until the next comment
    'polycmp run model.onnx -b "oip:',
    "polycmp run resnet50.oip ",
    "touch resnet50.oip",
    "export TRITON_TOKEN=",
    "polycmp run model.onnx -b torch",  # PyTorch
    "polycmp run model.pt",  # PyTorch
    "polycmp locate model.onnx -b onnxrt -b torch",  # PyTorch
    "polycmp run model.keras ",  # TensorFlow
    "polycmp run model.tflite ",  # LiteRT
    "polycmp run model.onnx -b onnxrt -b tf",  # TensorFlow
    "polycmp locate model.tflite -b tf",  # LiteRT
    "polycmp locate int8.tflite float.tflite -b tf",  # the same
    "polycmp locate model.onnx -b tf:model=model.tflite",  # the same
    "polycmp run net.pt2 -b executorch",  # ExecuTorch
    "polycmp run net.onnx -b executorch",  # the same
    "polycmp run new.pte old.pte -b executorch",  # the same
    "polycmp locate net.pt2 -b executorch",  # the same
    "polycmp locate net.onnx -b executorch",  # the same
    "polycmp locate new.pte old.pte -b executorch",  # the same
    "polycmp run model.onnx -b onnxrt -b openvino",  # four frameworks
    "polycmp run saved_model ",  # TensorFlow
    "polycmp run frozen.pb ",  # TensorFlow
    "polycmp run model.onnx -b onnxrt -b torch",  # PyTorch
    "polycmp run load.py:Net --model-type torch",  # PyTorch
    "polycmp run model.onnx -b onnxrt -b onnxrt:python=",  # another environment
    "polycmp locate model.onnx -b onnxrt:python=",  # another environment
    "polycmp locate model.onnx -b trt:fp16",  # TensorRT, here or on another machine
    "polycmp bisect ",  # environments are made from a package index
    "polycmp cache ",
    "polycmp run model.onnx -b onnxrt:version=",
    "polycmp run model.onnx -b 'onnxrt:version=",
    "polycmp locate model.onnx -b onnxrt:version=",
    "polycmp suite nightly.toml --shard",  # many machines
    "polycmp suite merge shards",
    "polycmp generate model/ -b genai",  # PyTorch, and a model of transformers
    "polycmp suite nightly.toml --executor ray",  # a cluster
)


@dataclass
class Command:
    """A command as a page shows it, the exit status it promises and the lines shown below it."""

    line: str
    status: int = 0
    shown: list[str] = field(default_factory=list)


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, text) for _, kind, text in FENCE.findall(page.read_text(encoding="utf-8"))]


def commands(text: str) -> list[Command]:
    """Return the commands of a console block."""
    found: list[Command] = []
    lines = iter(text.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            assert found, f"a console block begins with output: {line}"
            found[-1].shown.append(line)
            continue
        whole = line[2:]
        while whole.endswith("\\"):
            whole = whole[:-1].rstrip() + " " + next(lines).strip()
        promised = STATUS.search(whole)
        found.append(Command(STATUS.sub("", whole), int(promised[1]) if promised else 0))
    return found


def words(line: str) -> set[str]:
    """Return what a line keeps from run to run: its longer words, without numbers, paths and versions."""
    return set(re.findall(r"[^\W\d_]{4,}", line))


def missing_lines(shown: list[str], real: str) -> list[str]:
    """Return the shown lines that no real line resembles; a table may wrap elsewhere, so neighbours count, too."""
    lines = ["", *real.splitlines(), ""]
    real_words = [words(" ".join(lines[at - 1 : at + 2])) for at in range(1, len(lines) - 1)]
    wanted = [line for line in shown if words(line) and line.strip() not in {"…", "..."}]
    return [line for line in wanted if not any(words(line) <= candidate for candidate in real_words)]


@pytest.fixture(scope="session")
def models() -> dict[str, onnx.ModelProto]:
    """The demo model, and the same with one weight changed; a decoder, and the same with a fault in its cache."""
    model = make_model()
    return {
        "model.onnx": model,
        "other.onnx": with_fault(model),
        "decoder.onnx": decoder(),
        "upgraded.onnx": decoder(forgets={1: 9}),
    }


@pytest.fixture
def folder(models, page, tmp_path, monkeypatch) -> Path:
    """A folder in which commands run: with the models, or an empty one for pages that bring their own."""
    for name, model in models.items() if page.name not in FROM_NOTHING else ():
        onnx.save(model, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLYCMP_PLUGINS", raising=False)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    return tmp_path


def write_file(folder: Path, text: str) -> None:
    """Write a block whose first line names a file."""
    named = FILE.fullmatch(text.partition("\n")[0].strip())
    if named:
        path = folder / named[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def run(command: Command, polycmp) -> tuple[int, str]:
    """Return the exit status and everything printed; polycmp runs in this process, which is quicker."""
    argv = shlex.split(command.line)
    if argv[0] == "polycmp" and not {"|", ">", "&&", ";"} & set(argv):
        done = polycmp(*argv[1:])
        return done.status, done.out + done.err
    done = subprocess.run(command.line, shell=True, capture_output=True, text=True, check=False, timeout=120)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.corpus if page.name in LONG else (), id=page.name) for page in PAGES],
)
def test_every_command_does_what_the_page_shows(page, polycmp, folder, monkeypatch):
    run_cases_here(monkeypatch)
    if page.name in TESTED_ELSEWHERE:
        assert f"docs/{page.name}" in (ROOT / TESTED_ELSEWHERE[page.name]).read_text(encoding="utf-8")
        return
    for kind, text in blocks(page):
        if kind in {"python", "toml"}:
            write_file(folder, text)
        for command in commands(text) if kind == "console" else ():
            status, printed = run(command, polycmp)
            assert status == command.status, f"{page.name}: {command.line}\nexit {status}\n{printed}"
            assert "Traceback" not in printed, f"{page.name}: {command.line}\n{printed}"
            missing = missing_lines(command.shown, printed)
            assert not missing, f"{page.name}: {command.line}\nnot printed: {missing}\nprinted:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_not_run_is_known(page):
    if page.name in TESTED_ELSEWHERE:
        return
    kinds = {kind for kind, _ in blocks(page)}
    assert kinds <= {"console", "sh", "cpp", "python", "toml", "json", "text", "yaml"}, kinds
    for kind, text in blocks(page):
        lines = text.replace("\\\n", " ").splitlines() if kind == "sh" else []
        unknown = [line for line in lines if line.strip() and not line.startswith(("#", *NOT_RUN))]
        assert not unknown, f"{page.name}: show this in a console block, or allow it in NOT_RUN: {unknown}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, made as code hosts make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize(
    "page",
    [
        *sorted({*PAGES, *ROOT.glob("*.md")}),
        *ROOT.glob("*/README.md"),
        *ROOT.glob("plugins/*/README.md"),
        *ROOT.glob("docs/*/*.md"),
    ],
    ids=str,
)
def test_links_lead_somewhere(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page}: {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in anchors(linked), f"{page}: {target}; there are {sorted(anchors(linked))}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md", *ROOT.glob("plugins/*/README.md")], ids=str)
def test_pages_are_finished_and_tell_nothing_of_the_machine_they_were_written_on(page):
    found = re.findall(r"TODO|FIXME|XXX|/home/|/root/|/work/|/tmp/", page.read_text(encoding="utf-8"))
    assert not found


def test_every_page_is_in_the_index():
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in PAGES[1:] if page.name != "README.md" and f"({page.name})" not in index] == []


def test_a_line_that_is_not_printed_is_noticed():
    real = " ok   logits   float32[1,10]   3.87e-07   within tolerance \nPASSED: 2 outputs within tolerance (0.1 s)"
    assert (
        missing_lines(["PASSED: 3 outputs within tolerance (0.3 s)", "…", " ok  logits  within tolerance"], real) == []
    )
    assert missing_lines(["FAILED: 2 outputs differ"], real) == ["FAILED: 2 outputs differ"]
