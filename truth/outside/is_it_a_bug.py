"""Reports on OpenVINO that a study labels as bugs and as none: does polycmp decide as its maintainers did?

    python -m truth.outside.is_it_a_bug [--cases NUMBER...] [--output FILE]

Each report in `is_it_a_bug_cases` is a model of our own, made from what the issue says, with the answer to expect. A
script without polycmp shows first that the release of OpenVINO is wrong about those that were confirmed. `run` and
`locate` are then asked, with the report's inputs, and of confirmed ones about the newest release, too, where that is
right. Releases are installed in environments of their own below .cache/truth-history. Answers are kept below
.cache/truth-outside/is-it-a-bug; `--cases` asks again. The page is docs/outside/is-it-a-bug.md.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from truth.build import Array
from truth.history.checking import is_right, outputs_of, run_code
from truth.history.environments import FOLDER, ROOT, Environment, NotMadeError, interpreter_of, make, run_making
from truth.history.issue import openvino
from truth.judge import Said, backends_found, run_words
from truth.outside.is_it_a_bug_cases import IR, NEWEST, NOTHING, REPORTS, SCRIPT, Report
from truth.outside.is_it_a_bug_page import page
from truth.table import write_page

PAGE = ROOT / "docs" / "outside" / "is-it-a-bug.md"
_WORK = ROOT / ".cache" / "truth-outside" / "is-it-a-bug"
#: Pythons for releases that no later one can run.
_OLD = {"2022.3.0": "3.10", "2022.1.0": "3.9", "2021.4.2": "3.8", "2021.3.0": "3.8"}
#: Stands for an installation that is broken: it has a part of OpenVINO, and not the runtime.
_LACKING = Environment(("openvino-telemetry==2024.1.0",))
_AROUND = """
import sys
import numpy
model, inputs, outputs = sys.argv[1:]
feed = dict(numpy.load(inputs))
{code}
numpy.savez(outputs, **made)
"""
#: The folder with the backend that runs scripts.
_BACKENDS = Path(__file__).parent / "backends"


def ask(report: Report, folder: Path) -> dict[str, Any]:
    """Return what a release without polycmp does, and what polycmp says, of a report.

    Raises:
        NotMadeError: The release cannot be installed here.
    """
    case = report.make()
    shutil.rmtree(folder, ignore_errors=True)  # a compiled model in the cache of an earlier question changes the answer
    source = case.net.write(folder, "model.onnx")
    (folder / "text.onnx").write_text("not a model\n", "utf-8")
    try:
        expected: list[Array] | str = case.expected()
    except Exception as error:  # noqa: BLE001 - an invalid model has no outputs
        expected = str(error)
    said: dict[str, Any] = {"plain": _plain(report, report.release, folder, source, expected)}
    said["asked"] = _answers(report, report.release, folder, expected)
    if report.confirmed and report.release not in _OLD:
        said["plain newest"] = _plain(report, NEWEST, folder, source, expected)
        if said["plain newest"] == "right":
            said["newest"] = _answers(report, NEWEST, folder, expected)
    return said


def _answers(report: Report, release: str, folder: Path, expected: list[Array] | str) -> dict[str, Any]:
    """Return what `run` and `locate` say."""
    words = _words(report, release, folder, expected)
    with backends_found(_BACKENDS):
        return {
            command: _kept(run_words([command, *words], folder / f"{command}.json"), [command, *words])
            for command in (("run", "locate") if report.reference else ("run",))
        }


def _kept(said: Said, words: Sequence[str]) -> dict[str, Any]:
    document = said.document
    return {
        "status": said.exit,
        "verdict": document.get("verdict"),
        "sentence": document.get("sentence", ""),
        "text": said.text,
        "words": list(words),
        "seconds": said.seconds,
    }


def _words(report: Report, release: str, folder: Path, expected: list[Array] | str) -> list[str]:
    """Return model, backends and inputs."""
    source, inputs = folder / "model.onnx", folder / "x.npz"
    given = ["--load-inputs", str(inputs), *report.words]
    if report.how == SCRIPT:
        options = f"interpreter={_python(release)},script={folder / 'script.py'},name=openvino"
        return [str(source), "-b", f"script:{options}", "-b", report.reference, *given]
    own = report.options.format(folder=folder)
    options = ",".join(filter(None, (own, "name=openvino", f"python={_python(release)}")))
    model = folder / report.model if report.model else source
    if report.how == IR:
        target = folder / "written.xml"
        return [str(target), "-b", f"openvino:{options}", "-b", f"{report.reference}:model={source}", *given]
    if report.reference:
        return [str(model), "-b", f"openvino:{options}", "-b", report.reference, *given]
    assert not isinstance(expected, str)
    names = [output.name for output in report.make().net.model.graph.output]
    np.savez(folder / "right.npz", allow_pickle=False, **dict(zip(names, expected, strict=True)))
    return [str(model), "-b", f"openvino:{options}", "--load-outputs", str(folder / "right.npz"), *given]


def _plain(report: Report, release: str, folder: Path, source: Path, expected: list[Array] | str) -> str:
    """Return "right", or what a release does without polycmp."""
    inputs = folder / "x.npz"
    if report.how == SCRIPT:
        script, written = folder / "script.py", folder / "written.npz"
        script.write_text(_AROUND.format(code=report.code), "utf-8")
        # Where compiled models are kept, the second run is the first that takes one from there.
        for _ in range(2):
            why = run_code(_python(release), script, [source, inputs, written])
        if why:
            return why
        with np.load(written) as arrays:
            found: list[Array] | str = [arrays[value.name] for value in report.make().net.model.graph.output]
    else:
        python = _python(release)
        if report.how == IR:
            code = f"import sys\nsource, target = sys.argv[1:]\n{report.writes}"
            why = run_code(python, code, [source, folder / "written.xml"])
            if why:
                return why
            source = folder / "written.xml"
        found = outputs_of(python, f"openvino:{report.options.format(folder=folder)}", source, inputs)
    if isinstance(expected, str):
        return found if isinstance(found, str) else "runs"
    if is_right(found, expected, 1e-3):
        return "right"
    return found if isinstance(found, str) else "wrong"


def _python(release: str) -> Path:
    """Return the interpreter of a release."""
    if release not in _OLD:
        return make(_LACKING if release == NOTHING else openvino(release))
    folder = FOLDER / f"alone-openvino-{release}"
    python = folder / "bin" / "python"
    if not (folder / "made").exists():
        run_making([str(interpreter_of(_OLD[release])), "-m", "venv", str(folder)])
        run_making([str(python), "-m", "pip", "install", "--quiet", f"openvino=={release}", "numpy<1.24"])
        (folder / "made").touch()
    return python


def main(words: Sequence[str]) -> int:
    """Ask about every report and write the page; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m truth.outside.is_it_a_bug",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--cases", nargs="*", type=int, default=[], help="numbers to ask about again; by default those not asked"
    )
    parser.add_argument("--output", type=Path, default=PAGE, help="the page")
    options = parser.parse_args(words)
    path = _WORK / "answers.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    answers: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.is_file() else {}
    for report in REPORTS:
        name = str(report.number)
        if report.number not in options.cases and (options.cases or name in answers):
            continue
        try:
            answers[name] = ask(report, _WORK / name)
        except NotMadeError as error:
            print(f"{name}: left out, since OpenVINO {report.release} cannot be installed here: {error}")
            continue
        path.write_text(json.dumps(answers, indent=1), "utf-8")
        _tell(report, answers[name])
    if not answers:
        print("skipped: no release of OpenVINO can be had here")
        return 0
    write_page(options.output, page([report for report in REPORTS if str(report.number) in answers], answers))
    return 0


def _tell(report: Report, said: dict[str, Any]) -> None:
    print(report.number, "confirmed" if report.confirmed else "no bug", "| plain:", said["plain"][:80], flush=True)
    for key in ("asked", "newest"):
        for command, answer in said.get(key, {}).items():
            print("   ", key, command, answer["status"], answer["sentence"][:230] or answer["text"][-200:], flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
