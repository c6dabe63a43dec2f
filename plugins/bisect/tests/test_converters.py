"""The command of a converter, run with each of its releases."""

from __future__ import annotations

import subprocess

import pytest


def test_the_command_of_a_converter_is_run_with_each_release(place):
    done, report = place.over_toyconv("--bad", "1.2")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (report["first_bad"], report["last_good"], report["skipped_between"]) == ("1.2", "1.0", ["1.1"])
    assert report["judged"]["1.1"]["reason"] == (
        "the command of toyconv 1.1 ended with status 1: toyconv: cannot read Mul"
    )
    assert not (place.root / "out.onnx").exists()


@pytest.mark.parametrize("explained", [(), pytest.param(("--explain", "page"), marks=pytest.mark.corpus)])
def test_what_is_to_be_typed_next_makes_the_file_of_the_first_bad_release_anew(place, explained):
    step = ("toyconv", "m.onnx", "out.onnx")
    words = ("out.onnx", "-b", "onnxrt", "-b", "onnxrt:model=m.onnx", "--over", "toyconv", "--bad", "1.2")
    done = place.polycmp("bisect", *words, *explained, "--", *step)
    assert done.returncode == 1, done.stdout + done.stderr
    made, located = (line.partition("next: ")[2] for line in done.stdout.splitlines() if "next: " in line)
    assert located == "polycmp locate out.onnx -b onnxrt -b onnxrt:model=m.onnx"
    subprocess.run(made, shell=True, check=True, cwd=place.root)  # as a user pastes it
    assert place.polycmp(*located.split()[1:]).returncode == 1
    if not explained:
        return
    page = (place.root / "page/issue.md").read_text()
    assert page.startswith("# toyconv 1.2 gives wrong results; toyconv 1.0 is right")
    assert "pip install toyconv==1.2\ntoyconv m.onnx out.onnx\npolycmp run out.onnx" in page
    assert "- toyconv 1.2: toyconv==1.2" in page
