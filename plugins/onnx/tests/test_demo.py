"""`polycmp demo`: files to begin with, and commands that work on them as they are printed."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest

from polycmp.cli.main import run


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("POLYCMP_PLUGINS", raising=False)


def test_every_command_that_it_shows_works_from_an_empty_folder(capsys):
    pytest.importorskip("onnxruntime")
    for plugin in ("polycmp_onnxrt", "polycmp_locate", "polycmp_checks", "polycmp_report"):
        pytest.importorskip(plugin)
    assert run(["demo"]) == 0
    printed = capsys.readouterr().out
    lines = printed.splitlines()
    assert next(line for line in reversed(lines) if line and not line.startswith(" ")).startswith("FOUND: wrong: Conv")
    assert "FAILED: 2 of 2 outputs differ" in printed
    assert "open demo/report.html" in printed
    assert Path("demo/report.html").stat().st_size > 10_000
    shown = [line.strip() for line in lines if line.startswith("  polycmp ")]
    assert [shlex.split(line)[1] for line in shown] == ["run", "invariants", "run", "locate"]
    assert [line.removeprefix("$ ") for line in lines if line.startswith("$ ")] == shown[2:]
    found = {}
    for line in shown:
        status = run(shlex.split(line)[1:])
        found[line.split()[1] + line.split()[2]] = status, capsys.readouterr().out
    assert [status for status, _ in found.values()] == [0, 0, 1, 1]
    assert "Conv 'stage1.a.conv'" in found["locatedemo/other.onnx"][1]


def test_inputs_are_real_pictures():
    assert (
        run(
            [
                "demo",
                "here",
            ]
        )
        == 0
    )
    with np.load("here/inputs.npz") as archive:
        image = archive["image"]
    assert image.shape == (3, 3, 32, 32)
    # Neighbouring pixels of a picture are alike; those of noise are not.
    assert np.abs(np.diff(image, axis=-1)).mean() < 0.5 * image.std()


def test_without_other_packages_it_shows_what_is_there(monkeypatch, capsys):
    monkeypatch.setenv("POLYCMP_PLUGINS", "onnx,samples")
    assert run(["demo", "."]) == 0
    shown = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  polycmp ")]
    assert shown == [
        "  polycmp run model.onnx -b onnx -b onnx:dtype=float64 --load-inputs inputs.npz",
        "  polycmp run other.onnx model.onnx -b onnx --load-inputs inputs.npz",
    ]


def test_again_is_no_error_and_another_file_is_kept(capsys):
    assert run(["demo", "."]) == 0
    assert run(["demo", "."]) == 0
    Path("model.onnx").write_bytes(b"mine")
    Path("other.onnx").unlink()
    assert run(["demo", "."]) == 2
    assert "model.onnx is there already, and not what this command writes" in capsys.readouterr().err
    assert Path("model.onnx").read_bytes() == b"mine"
    assert not Path("other.onnx").exists()
