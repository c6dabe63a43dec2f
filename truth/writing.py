"""Every command that writes ONNX models, tried on random models: what comes out computes what it should.

    python -m truth.writing [--graphs N] [--seed N] [--only REGEX] [--share SHARE] [--output FILE]

For each model and command there are four ends: right; refused in words; not judged, where a command has nothing to do
or nothing here runs what comes out; and wrong: the command said that it wrote a file, and that breaks ONNX's rules,
does not run, or computes something else than it should.
Commands are tried without their verification first, to see what they make by themselves, and with it where that was
wrong: what is wrong then, too, is silent. The exit status is 0 if nothing is.
"""

from __future__ import annotations

import argparse
import collections
import io
import os
import re
import shutil
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from truth.odd_graphs import Odd, checked, odd_model

RIGHT, REFUSED, SKIPPED, WRONG = "right", "refused", "not judged", "wrong"
#: Relative errors that each kind of result may have.
_EXACT, _HALF, _BRAIN = 1e-5, 5e-2, 3e-1
Outputs = dict[str, Any]
#: An output of unknown shape is no fault: it is what a model says whose shapes nobody can infer.
_MISSING = "is required but missing"
#: With these words what runs models here says that it lacks something; then nobody knows what a file computes.
_LACKS = ("NOT_IMPLEMENTED", "No corresponding Numpy type", "Type 'tensor(bfloat16)' of input")
_UNJUDGED = "nothing here runs it"


@dataclass(frozen=True)
class Edit:
    """A command that writes a model.

    Attributes:
        name: For the table.
        words: The words of the command for a model, without the model's and the output's file; None where it has
            nothing to do.
        tolerance: Relative error that its results may have; None where they may be anything.
    """

    name: str
    words: Callable[[Odd, np.random.Generator], Sequence[str] | None]
    tolerance: float | None = _EXACT


def _fixed(*words: str) -> Callable[[Odd, np.random.Generator], Sequence[str] | None]:
    return lambda odd, random: words


def _inner(*words: str) -> Callable[[Odd, np.random.Generator], Sequence[str] | None]:
    """Return words in which {t} is a tensor inside; a name that words cannot hold is nothing to do."""

    def make(odd: Odd, random: np.random.Generator) -> Sequence[str] | None:
        plain = [name for name in odd.inner if re.fullmatch(r"[\w./]+", name)]
        if not plain:
            return None
        tensor = plain[random.integers(len(plain))]
        return [word.replace("{t}", tensor) for word in words]

    return make


def _part(odd: Odd, random: np.random.Generator) -> Sequence[str] | None:
    """Return words that begin a part at a tensor inside, and at whatever of the inputs it needs besides."""
    begin = _inner("{t}:auto:auto")(odd, random)
    if begin is None or not all(re.fullmatch(r"[\w./]+", name) for name in odd.feed):
        return None
    return ["surgeon", "extract", "--inputs", *begin, *(f"{name}:auto:auto" for name in odd.feed)]


def _shapes(odd: Odd, random: np.random.Generator) -> Sequence[str] | None:
    known = [name for name in odd.feed if re.fullmatch(r"[\w./]+", name)]
    if not known:
        return None
    return [
        "surgeon",
        "sanitize",
        "--override-input-shapes",
        *(f"{name}:{list(odd.feed[name].shape)}".replace(" ", "") for name in known),
    ]


def _smaller(odd: Odd, random: np.random.Generator) -> Sequence[str] | None:
    """Return words that reduce a model until a file of it is smaller than a size drawn at random.

    What is cut out has the shapes of the inputs that the model is to be run on, so these are given.
    """
    if not all(re.fullmatch(r"[\w./]+", name) for name in odd.feed):
        return None
    shapes = (f"{name}:{list(value.shape)}".replace(" ", "") for name, value in odd.feed.items())
    return ["debug", "reduce", str(random.integers(1, odd.model.ByteSize() // 2)), "--input-shapes", *shapes]


EDITS = (
    Edit("convert", _fixed("convert")),
    Edit("convert --shape-inference", _fixed("convert", "--shape-inference")),
    Edit(
        "convert --save-external-data", _fixed("convert", "--save-external-data", "--external-data-size-threshold", "0")
    ),
    Edit(
        "convert, one file per weight",
        _fixed(
            "convert",
            "--save-external-data",
            "--external-data-size-threshold",
            "0",
            "--no-save-all-tensors-to-one-file",
        ),
    ),
    Edit("convert --fp-to-fp16", _fixed("convert", "--fp-to-fp16"), _HALF),
    Edit("convert --fp-to-fp16 --keep-float", _fixed("convert", "--fp-to-fp16", "--keep-float", "Tanh"), _HALF),
    Edit("convert --fp-to-bf16", _fixed("convert", "--fp-to-bf16"), _BRAIN),
    Edit("convert --mark-all", _fixed("convert", "--mark-all")),
    Edit("convert --onnx-outputs", _inner("convert", "--onnx-outputs", "{t}")),
    Edit("surgeon sanitize", _fixed("surgeon", "sanitize")),
    Edit("surgeon sanitize --cleanup --toposort", _fixed("surgeon", "sanitize", "--cleanup", "--toposort")),
    Edit("surgeon sanitize --fold-constants", _fixed("surgeon", "sanitize", "--fold-constants")),
    Edit(
        "surgeon sanitize --fold-constants, no inference",
        _fixed("surgeon", "sanitize", "--fold-constants", "--no-shape-inference"),
    ),
    Edit("surgeon sanitize --override-input-shapes", _shapes),
    Edit("surgeon extract", _fixed("surgeon", "extract")),
    Edit("surgeon extract --outputs", _inner("surgeon", "extract", "--outputs", "{t}:auto")),
    Edit("surgeon extract --inputs", _part),
    Edit("surgeon insert", _inner("surgeon", "insert", "--op", "Identity", "--inputs", "{t}", "--outputs", "{t}")),
    Edit("surgeon prune", _fixed("surgeon", "prune"), None),
    Edit("surgeon weight-strip, weight-reconstruct", _fixed("surgeon", "weight-strip"), None),
    Edit("run --save-onnx", _fixed("run")),
    Edit("run --save-onnx --shape-inference", _fixed("run", "--shape-inference")),
    Edit("run --save-onnx --fp-to-fp16", _fixed("run", "--fp-to-fp16"), _HALF),
    Edit("debug reduce", _smaller),
    Edit("debug bundle", _fixed("debug", "bundle", "1"), None),
    Edit("names and weights of a bundle", _fixed("bundle"), None),
    Edit("mixed precision", _fixed("mixed"), _HALF),
)


@dataclass
class Tried:
    """What became of one command on one model.

    Attributes:
        edit: The command.
        seed: The model.
        end: `right`, `refused`, `not judged` or `wrong`.
        why: In words.
        silent: Whether verification lets it pass, too.
    """

    edit: Edit
    seed: int
    end: str
    why: str = ""
    silent: bool = False


class Bench:
    """Tries commands on one model.

    Args:
        odd: The model.
        seed: It, for random choices.
        folder: An empty folder.
    """

    def __init__(self, odd: Odd, seed: int, folder: Path) -> None:
        self.odd, self.seed, self.folder = odd, seed, folder
        onnx.save(odd.model, folder / "model.onnx")
        self._run, self.expected = _engine(odd)
        self._everything: Outputs | None = None

    def attempt(self, edit: Edit) -> Tried:
        """Return what became of a command."""
        random = np.random.default_rng(self.seed)
        words = edit.words(self.odd, random)
        if words is None:
            return Tried(edit, self.seed, SKIPPED)
        tried = self._once(edit, words, verify=False)
        if tried.end == WRONG and words[0] in {"convert", "surgeon"}:
            tried.silent = self._once(edit, words, verify=True).end == WRONG
        elif tried.end == WRONG:
            tried.silent = True
        return tried

    def _once(self, edit: Edit, words: Sequence[str], *, verify: bool) -> Tried:
        target = self.folder / "out.onnx"
        target.unlink(missing_ok=True)
        try:
            status, said = self._write(words, target, verify=verify)
        except Exception as error:  # noqa: BLE001 - a traceback is a finding
            return Tried(edit, self.seed, WRONG, f"raised {error!r}"[:300])
        if status != 0:
            in_words = "fault of polycmp itself" not in said and "Traceback" not in said
            return Tried(edit, self.seed, REFUSED if in_words else WRONG, said[-300:])
        why = self._wrong(edit, words, target)
        return Tried(edit, self.seed, SKIPPED if why == _UNJUDGED else WRONG if why else RIGHT, why)

    def _write(self, words: Sequence[str], target: Path, *, verify: bool) -> tuple[int, str]:
        source = self.folder / "model.onnx"
        if words[0] == "bundle":
            return _scrub(source, target)
        if words[0] == "mixed":
            return _mix(source, target, self.seed)
        if words[1:2] == ("weight-strip",):
            stripped = self.folder / "stripped.onnx"
            status, said = _call(["surgeon", "weight-strip", str(source), "-o", str(stripped)])
            if status:
                return status, said
            words, source = ["surgeon", "weight-reconstruct"], stripped
        if words[0] == "run":
            done = _call([*words[:1], str(source), *words[1:], "-b", "onnx", "--save-onnx", str(target)])
            return (0, "") if target.exists() else done  # whatever came of running it
        if words[0] == "debug":
            return self._reduce(words[1], words[2], words[3:], target)
        split = 2 if words[0] == "surgeon" else 1
        more = [] if verify else ["--no-verify"]
        return _call([*words[:split], str(source), *words[split:], *more, "-o", str(target)])

    def _reduce(self, command: str, size: str, shapes: Sequence[str], target: Path) -> tuple[int, str]:
        """Write what is left where a check fails for files of a size or more, or its copy in a bundle."""
        step, case, packed = (self.folder / name for name in ("step.onnx", "case", "case.zip"))
        check = ["--check", "sh", "-c", 'test "$(wc -c < "$0")" -lt "$1"', str(step), size]
        steps = ["--iter-artifact", str(step), "--artifacts-dir", str(self.folder / "sorted"), *shapes]
        if command == "reduce":
            done = _call(["debug", "reduce", str(self.folder / "model.onnx"), "-o", str(target), *steps, *check])
            return (done[0] or 3, done[1]) if not target.exists() else done
        shutil.rmtree(case, ignore_errors=True)
        words = ["-o", str(self.folder / "part.onnx"), "--save-repro", str(case), "--no-reduce-inputs"]
        done = _call(
            ["debug", "reduce", str(self.folder / "model.onnx"), *words, "--no-reduce-outputs", *steps, *check]
        )
        if not case.exists():
            return done[0] or 3, done[1]
        done = _call(["debug", "bundle", str(case), "-o", str(packed)])
        if done[0] == 0:
            with zipfile.ZipFile(packed) as file:
                name = next(name for name in file.namelist() if name.endswith("step.onnx"))
                target.write_bytes(file.read(name))
        return done

    def _wrong(self, edit: Edit, words: Sequence[str], target: Path) -> str:
        """Return in words what is wrong with a file; empty if nothing is."""
        try:
            made = onnx.load(str(target))
            onnx.checker.check_model(made, full_check=True)
        except Exception as error:  # noqa: BLE001 - it raises whatever it meets
            if _MISSING not in str(error):
                return f"ONNX refuses it: {str(error)[:200]}"
        names = [value.name for value in made.graph.output]
        feed, expected = self.odd.feed, self.expected
        if "bundle" in words:
            part = onnx.load(self.folder / "case" / "step.onnx") if words[0] == "debug" else self.odd.model
            return self._renamed(made, part)
        if "reduce" in words:
            try:
                everything = self._all(every=True)
            except Exception:  # noqa: BLE001 - what runs the model may not return all that is inside it
                return _UNJUDGED
            feed, expected = everything, {name: everything[name] for name in names}
        elif "extract" in words or "--mark-all" in words or "--onnx-outputs" in words:
            everything = self._all()
            feed = {**everything, **feed}
            expected = {name: everything[name] for name in names if name in everything}
        elif names != [value.name for value in self.odd.model.graph.output]:
            return f"its outputs are {names} instead of {list(expected)}"
        weights = {item.name for item in made.graph.initializer}
        fed = [value.name for value in made.graph.input if value.name not in weights]
        missing = [name for name in fed if name not in feed]
        if missing:
            return f"it wants {missing[0]!r}, which the original is not fed with"
        try:
            found = self._made(made, {name: feed[name] for name in fed})
        except Exception as error:  # noqa: BLE001 - whatever the evaluator raises
            return _UNJUDGED if any(text in str(error) for text in _LACKS) else f"it does not run: {error!r}"[:300]
        loose = self.odd.cliff and edit.tolerance not in (None, _EXACT)
        return _difference(found, expected, None if loose else edit.tolerance)

    def _made(self, model: Any, feed: Mapping[str, Any]) -> Outputs:
        """Return what a file computes: by ONNX Runtime where ONNX's evaluator, which lacks optional values, cannot."""
        try:
            return self._run(model, feed)
        except Exception:
            if self._run is _by_onnxruntime:
                raise
            return _by_onnxruntime(model, feed)

    def _renamed(self, made: Any, original: Any) -> str:
        before = [value.name for value in original.graph.input]
        after = [value.name for value in made.graph.input]
        names = dict(zip(after, before, strict=True))
        weights = {item.name for item in made.graph.initializer}
        try:
            self._run(made, {name: self.odd.feed[names[name]] for name in after if name not in weights})
        except Exception as error:  # noqa: BLE001 - whatever the evaluator raises
            return f"it does not run: {error!r}"[:300]
        return ""

    def _all(self, *, every: bool = False) -> Outputs:
        """Return the weights and inputs of the original, and the tensors of float32 that it computes, or every one."""
        if self._everything is None or every:
            marked = onnx.ModelProto()
            marked.CopyFrom(self.odd.model)
            known = {value.name for value in marked.graph.output}
            made = [name for node in marked.graph.node for name in node.output if name]
            for name in [name for name in (made if every else self.odd.inner) if name not in known]:
                marked.graph.output.append(onnx.ValueInfoProto(name=name))
            weights = {item.name: onnx.numpy_helper.to_array(item) for item in marked.graph.initializer}
            found = {**weights, **self.odd.feed, **self._run(marked, self.odd.feed)}
            if every:
                return found
            self._everything = found
        return self._everything


def _engine(odd: Odd) -> tuple[Callable[[Any, Mapping[str, Any]], Outputs], Outputs]:
    """Return what runs a model and its relatives, and what it makes.

    Raises:
        ValueError: Nothing runs it.
    """
    for run in (_by_reference, _by_onnxruntime):
        try:
            return run, run(odd.model, odd.feed)
        except Exception:  # noqa: BLE001, PERF203 - whatever it raises, the next may run it
            continue
    raise ValueError("nothing runs it")


def _by_reference(model: Any, feed: Mapping[str, Any]) -> Outputs:
    named = onnx.ModelProto()
    named.CopyFrom(model)
    _name_all(named)
    with np.errstate(all="ignore"):
        values = ReferenceEvaluator(named).run(None, dict(feed))
    return dict(zip([value.name for value in model.graph.output], values, strict=True))


def _name_all(model: Any) -> None:
    """Give outputs without a name one: ONNX's evaluator takes what it keeps as "" for inputs that are left out."""
    graphs = [model.graph, *model.functions]
    while graphs:
        for node in graphs.pop().node:
            node.output[:] = [name or f"{node.output[0]} {place}" for place, name in enumerate(node.output)]
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]


def _by_onnxruntime(model: Any, feed: Mapping[str, Any]) -> Outputs:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [item.name for item in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feed)), strict=True))


def _difference(found: Outputs, expected: Outputs, tolerance: float | None) -> str:
    for name, value in expected.items():
        if name not in found:
            return f"it lacks the output {name!r}"
        one, other = found[name], value
        if isinstance(other, list):
            if not isinstance(one, list) or len(one) != len(other):
                return f"{name!r} is another sequence"
            continue
        if other is None:
            continue
        one, other = np.asarray(one), np.asarray(other)
        if one.dtype != other.dtype or one.shape != other.shape:
            return f"{name!r} is {one.dtype}{list(one.shape)} instead of {other.dtype}{list(other.shape)}"
        if tolerance is None or other.dtype.kind not in "fiub":
            continue
        mine, its = one.astype(np.float64), other.astype(np.float64)
        error = float(np.abs(mine - its).max(initial=0))
        if not error <= tolerance * max(1.0, float(np.abs(its).max(initial=0))):
            return f"{name!r} is off by {error:.3g}"
    return ""


def _call(words: Sequence[str]) -> tuple[int, str]:
    """Return the exit status of polycmp, and what it said."""
    from polycmp.cli.main import main

    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        place = words.index("--check") if "--check" in words else len(words)
        quiet = [] if "bundle" in words else ["-q", "-q"]
        status = main([*words[:place], *quiet, *words[place:]])
    return status, said.getvalue()


def _scrub(source: Path, target: Path) -> tuple[int, str]:
    from polycmp_onnx import onnx_from_path, redraw_weights, save_onnx, scrub_names

    model = onnx_from_path(str(source))
    redraw_weights(model, np.random.default_rng(0))
    scrub_names(model)
    save_onnx(model, str(target))
    return 0, ""


def _mix(source: Path, target: Path, seed: int) -> tuple[int, str]:
    """Write what `locate --save-mixed` does where it keeps some layers."""
    from polycmp.errors import PolycmpError
    from polycmp_locate.precision.mixed import Mixer
    from polycmp_onnx import convert_to_fp16, onnx_from_path, save_onnx

    exact, random = onnx_from_path(str(source)), np.random.default_rng(seed)
    try:
        mixer = Mixer(exact, convert_to_fp16(exact))
        kept = [layer for layer in mixer.layers if random.random() < 0.5]
        save_onnx(mixer.mix(kept), str(target))
    except PolycmpError as error:
        return error.exit_code, str(error)
    return 0, ""


def try_all(seeds: Sequence[int], edits: Sequence[Edit] = EDITS, share: float = 1.0) -> Iterator[Tried]:
    """Yield what became of commands on each model that ONNX takes and something runs.

    Args:
        seeds: The models.
        edits: The commands.
        share: How many of them to try on each model, chosen at random.
    """
    for seed in seeds:
        odd = odd_model(seed)
        if not checked(odd):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                bench = Bench(odd, seed, Path(folder))
            except ValueError:
                continue
            chosen = np.random.default_rng(seed).random(len(edits)) < share
            yield from (bench.attempt(edit) for edit, wanted in zip(edits, chosen, strict=True) if wanted)


def page(found: Sequence[Tried], seconds: float) -> str:
    """Return the table of a run in Markdown."""
    models = len({item.seed for item in found})
    lines = [
        "# Files that commands write",
        "",
        f"{datetime.now(timezone.utc):%Y-%m-%d}, {models} random models, {len(found)} commands, "
        f"{seconds / 60:.0f} minutes, onnx {onnx.__version__}; `python -m truth.writing` makes this table.",
        "",
        "*Wrong* is what a command writes with `--no-verify`; *silent* is what is wrong although it was verified.",
        "",
        "| command | right | refused in words | not judged | wrong | silent |",
        "|---|---|---|---|---|---|",
    ]
    for edit in sorted({item.edit for item in found}, key=EDITS.index):
        mine = [item for item in found if item.edit == edit]
        ends = collections.Counter(item.end for item in mine)
        counts = [ends[end] for end in (RIGHT, REFUSED, SKIPPED, WRONG)]
        silent = sum(item.silent for item in mine)
        lines.append(f"| `{edit.name}` | {' | '.join(map(str, counts))} | {silent} |")
    ends = collections.Counter(item.end for item in found)
    total = " | ".join(str(ends[end]) for end in (RIGHT, REFUSED, SKIPPED, WRONG))
    lines.append(f"| all | {total} | {sum(item.silent for item in found)} |")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try commands on models, print what is wrong, and write the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m truth.writing", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--output")
    given = parser.parse_args(arguments)
    edits = [edit for edit in EDITS if re.search(given.only, edit.name)]
    start, found = time.monotonic(), []
    for number, tried in enumerate(try_all(range(given.seed, given.seed + given.graphs), edits, given.share), 1):
        found.append(tried)
        if tried.end == WRONG:
            silent = ", SILENT" if tried.silent else ""
            print(f"{tried.seed}: {tried.edit.name}{silent}: {tried.why}", flush=True)
        if given.output and number % 100 == 0:
            Path(given.output).write_text(page(found, time.monotonic() - start), encoding="utf-8")
    text = page(found, time.monotonic() - start)
    if given.output:
        Path(given.output).write_text(text, encoding="utf-8")
    print(text)
    return 1 if any(item.silent for item in found) else 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
