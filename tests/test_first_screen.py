"""The first screen: what a terminal of 80 × 24, or of 60 columns, shows of passing, failing and erring runs."""

from __future__ import annotations

import itertools
import os
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from decoders import decoder, save_all
from in_process import plugins_installed, redirected
from small_models import small_model

from polycmp.cli.main import run

pty = pytest.importorskip("pty")
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
WORDS = ("-b", "onnxrt:model=new.onnx,name=new", "-b", "onnxrt", "--input-shapes", "sequence=11", "past=0")


#: What fits the narrow one is tried on the wide one, too, with the corpus.
WIDTHS = [60, pytest.param(80, marks=pytest.mark.corpus)]


@pytest.fixture
def folder(tmp_path):
    list(save_all(tmp_path, old=decoder(), new=decoder(forgets={1: slice(None)})))
    onnx.save(small_model(), tmp_path / "small.onnx")
    return tmp_path


def screen(folder, columns, *words):
    """Return the exit status and the lines that a terminal of so many columns gets."""
    main, child = pty.openpty()
    settings = {"COLUMNS": str(columns), "LINES": "24", "TERM": "xterm", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    with ThreadPoolExecutor(1) as pool:
        taken = pool.submit(everything, main)
        with pytest.MonkeyPatch.context() as patch, os.fdopen(child, "w", encoding="utf-8") as terminal:
            patch.chdir(folder)
            for name, value in settings.items():
                patch.setenv(name, value)
            with redirected(terminal, terminal):
                status = run([*map(str, words), "--silent"], plugins_installed())
        text = CODES.sub("", taken.result().decode()).replace("\r", "")
    os.close(main)
    return status, text.splitlines()


def everything(main):
    """Return what a terminal gets until nobody writes to it any more."""
    taken = b""
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:
            return taken
        if not part:
            return taken
        taken += part


def table_of(lines, heading):
    """Return the lines of the table whose first line is a heading."""
    start = next(index for index, line in enumerate(lines) if line.startswith(heading))
    end = next((index for index in range(start, len(lines)) if not lines[index]), len(lines))
    return lines[start:end]


@pytest.mark.parametrize("columns", [80, 60])
def test_a_failure_fits_and_its_reason_has_the_full_width(folder, columns):
    status, lines = screen(folder, columns, "run", "old.onnx", *WORDS)
    assert status == 1
    table = table_of(lines, "new against onnxrt")
    assert len(table) <= 20
    assert all(len(line) <= columns for line in table)
    failed = [index for index, line in enumerate(table) if line.startswith("FAIL")]
    assert [table[index].split()[1] for index in failed] == ["present.1.key", "logits"]
    for index in failed:
        assert re.match(r"    (\d+ of \d+ channels|an element is off by)", table[index + 1])
        assert len(table[index + 1]) > columns - 25
    # Below the table stand only a note, the verdict and the next command: together they fit 24 lines.
    below = lines.index(next(line for line in lines if line.startswith("FAILED"))) - lines.index(table[0])
    assert below <= 22


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_run_that_passes(folder, columns):
    status, lines = screen(folder, columns, "run", "small.onnx", "-b", "onnxrt", "-b", "onnx")
    assert status == 0
    assert all(len(line) <= columns for line in lines)
    [row] = [line for line in lines if line.startswith("ok")]
    assert row.split()[1] == "y"
    assert lines[-1].startswith("PASSED: 1 output within tolerance")


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_run_that_errs(folder, columns):
    np.savez(folder / "x.npz", x=np.zeros((2, 7), np.float32))
    status, lines = screen(folder, columns, "run", "small.onnx", "-b", "onnxrt", "-b", "onnx", "--load-inputs", "x.npz")
    assert status == 3
    assert all(len(line) <= columns for line in lines if not line.startswith("  next:"))
    assert lines[-1].startswith("ERROR") or lines[-2].startswith("ERROR")


@pytest.mark.parametrize("columns", WIDTHS)
def test_locate_breaks_no_name_in_the_middle_of_a_word(folder, columns):
    status, lines = screen(folder, columns, "locate", "old.onnx", *WORDS)
    assert status == 1
    table = table_of(lines, "new against onnxrt")
    assert all(len(line) <= columns for line in table)
    [first] = [line for line in table if line.startswith("FIRST")]
    assert "h.1.attn.key_window" in first
    assert any("h.1.attn.value_heads" in line for line in table)


def test_a_long_name_is_broken_behind_a_joint(folder):
    model = small_model(output="/encoder/layer.0/attention/output/LayerNorm/LayerNormalization_output_0")
    onnx.save(model, folder / "long.onnx")
    _, lines = screen(folder, 60, "run", "long.onnx", "-b", "onnxrt", "-b", "onnx")
    table = table_of(lines, "onnxrt against onnx")
    at = next(index for index, line in enumerate(table) if line.startswith("ok"))
    assert all(len(line) <= 60 for line in table)
    assert re.search(r"\S*[/._] ", table[at])
    # The name goes on in its own column; what rounding explains stands below it, indented by four.
    rest = itertools.takewhile(lambda line: line.startswith(" " * 5), table[at + 1 :])
    parts = [table[at].split()[1], *(line.split()[0] for line in rest)]
    assert "".join(parts) == model.graph.output[0].name


def test_quiet_prints_one_line(folder):
    status, lines = screen(folder, 60, "run", "old.onnx", *WORDS, "-q")
    assert status == 1
    assert lines == [lines[0]] and lines[0].startswith("FAILED: 2 of 5 outputs differ")


def test_every_file_that_was_written_is_named(polycmp, tmp_path):
    onnx.save(small_model(), tmp_path / "small.onnx")
    words = ("--report", "r.json", "--save-outputs", "o.npz", "--save-inputs", "in", "--write-config", "run.toml")
    done = polycmp("run", "small.onnx", "-b", "onnxrt", "-b", "onnx", *words)
    assert done.status == 0, done.out + done.err
    assert {line for line in done.err.splitlines() if line.startswith("wrote ")} == {
        "wrote r.json",
        "wrote o.npz",
        "wrote in",
        "wrote run.toml",
    }


def test_a_second_model_is_another_run(polycmp, tmp_path):
    list(save_all(tmp_path, old=decoder(), new=decoder(forgets={1: slice(None)})))
    done = polycmp("run", "new.onnx", "old.onnx", "-b", "onnxrt", "--input-shapes", "sequence=11", "past=0")
    assert done.status == 1, done.out + done.err
    assert "onnxrt:model=old.onnx (reference)" in done.out
    assert polycmp("run", "new.onnx", "old.onnx").status == 2
    assert polycmp("run", "new.onnx", "old.onnx", "-b", "onnxrt:model=old.onnx").status == 2


def test_saved_outputs_are_compared_by_a_command_of_their_own(polycmp, tmp_path):
    onnx.save(small_model(), tmp_path / "a.onnx")
    onnx.save(small_model(seed=1), tmp_path / "b.onnx")
    for name in "ab":
        assert polycmp("run", f"{name}.onnx", "-b", "onnxrt", "--save-outputs", f"{name}.npz").status == 0
    assert polycmp("compare", "a.npz", "b.npz").status == 1
    assert polycmp("compare", "a.npz", "b.npz", "--atol", "10").status == 3
    assert polycmp("compare", "a.npz", "b.npz", "--atol", "10", "--allow-blind").status == 0
    missing = polycmp("compare")
    assert missing.status == 2 and "polycmp compare NEW.npz OLD.npz" in missing.err


def test_words_that_people_try(polycmp):
    assert polycmp("-V").out == polycmp("-v").out == polycmp("version").out == polycmp("--version").out
    assert polycmp("help", "run").out == polycmp("run", "--help").out
    assert polycmp("help").out == polycmp("--help").out
    assert "did you mean 'run'?" in polycmp("rn", "x").err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_completes_commands_is_printed(polycmp, shell):
    done = polycmp("completion", shell)
    assert done.status == 0
    assert f"_POLYCMP_COMPLETE={shell}_complete" in done.out
    assert polycmp("completion", "tcsh").status == 2
