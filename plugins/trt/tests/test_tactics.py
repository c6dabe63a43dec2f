"""Tactic replays: files that Polygraphy can read and has written, and the commands about them."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from polycmp.cli.main import main
from polycmp.errors import FileError
from polycmp_trt import TacticReplayData
from polycmp_trt.build.tactics import Algorithm, TensorInfo

#: A replay file as Polygraphy writes it.
WRITTEN_BY_POLYGRAPHY = """{
    "replay": {
        "conv": {
            "implementation": 2147483657,
            "tactic": -6194327789991425125,
            "inputs": [
                {"dtype": "DataType.FLOAT", "strides": [768, 256, 16, 1], "vectorized_dim": -1,
                 "components_per_element": 1, "polygraphy_class": "TensorInfo"}
            ],
            "outputs": [
                {"dtype": "DataType.HALF", "strides": [1, 2], "vectorized_dim": 1,
                 "components_per_element": 8, "polygraphy_class": "TensorInfo"}
            ],
            "polygraphy_class": "Algorithm"
        },
        "relu": {"implementation": 1, "tactic": 0, "inputs": [], "outputs": [], "polygraphy_class": "Algorithm"}
    },
    "polygraphy_class": "TacticReplayData"
}"""


def algorithm(tactic: int) -> Algorithm:
    return Algorithm(7, tactic, [TensorInfo("DataType.FLOAT", [4, 1], -1, 1)], [TensorInfo("DataType.HALF", [4, 1])])


def test_a_foreign_file_is_read_and_written_back_the_same(tmp_path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(WRITTEN_BY_POLYGRAPHY)
    replay = TacticReplayData.load(path)
    assert replay["conv"].tactic == -6194327789991425125
    assert replay["conv"].outputs[0].components_per_element == 8
    replay.save(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(WRITTEN_BY_POLYGRAPHY)


def test_reading_needs_no_tensorrt(tmp_path) -> None:
    path = tmp_path / "replay.json"
    path.write_text(WRITTEN_BY_POLYGRAPHY)
    code = (
        "import sys; sys.modules['tensorrt'] = None\n"
        f"from polycmp_trt import TacticReplayData; print(len(TacticReplayData.load({str(path)!r})))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "2\n"


@pytest.mark.parametrize("open_file", [io.StringIO, io.BytesIO])
def test_open_files_of_either_kind(open_file) -> None:
    replay = TacticReplayData().add("a", algorithm(1))
    file = open_file()
    replay.save(file)
    file.seek(0)
    assert TacticReplayData.load(file) == replay


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"polygraphy_class": "RunResults"}', '{"replay": {"a": {}}}', "\x00"]
)
def test_other_files_are_refused_by_name(tmp_path, text: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(FileError, match=r"other\.json"):
        TacticReplayData.load(path)
    with pytest.raises(FileError, match="no_such"):
        TacticReplayData.load(tmp_path / "no_such.json")


def test_algorithms_are_values() -> None:
    assert algorithm(1) == algorithm(1)
    assert {algorithm(1), algorithm(1), algorithm(2)} == {algorithm(1), algorithm(2)}


def test_inspect_tactics_shows_every_layer(tmp_path, capsys) -> None:
    path = tmp_path / "replay.json"
    path.write_text(WRITTEN_BY_POLYGRAPHY)
    assert main(["inspect", "tactics", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "Layer: conv" in shown
    assert "Tactic: -6194327789991425125" in shown
    assert "half, strides [1, 2], 8 per element of dimension 1" in shown
    assert main(["inspect", "tactics", str(tmp_path / "none.json")]) == 3


def sorted_replays(folder, **tactics: list[int]) -> None:
    for verdict, numbers in tactics.items():
        (folder / verdict).mkdir()
        for index, number in enumerate(numbers):
            replay = TacticReplayData().add("conv", algorithm(number)).add("relu", algorithm(0))
            replay.save(folder / verdict / f"{index}.json")


def test_diff_tactics_names_what_only_bad_engines_use(tmp_path, capsys) -> None:
    sorted_replays(tmp_path, good=[1, 2], bad=[2, 3])
    (tmp_path / "good" / "notes.txt").write_text("no replay")
    assert main(["inspect", "diff-tactics", "--dir", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert "read 2 good and 2 bad" in shown.out
    assert "Layer: conv" in shown.out
    assert "Tactic: 3)" in shown.out
    assert "Tactic: 2)" not in shown.out
    assert "Layer: relu" not in shown.out
    assert "notes.txt" in shown.err


def test_diff_tactics_without_bad_engines(tmp_path, capsys) -> None:
    sorted_replays(tmp_path, good=[1, 2])
    assert main(["inspect", "diff-tactics", "--dir", str(tmp_path)]) == 0
    assert "read 2 good and 0 bad" in capsys.readouterr().out


def test_diff_tactics_of_two_files(tmp_path, capsys) -> None:
    sorted_replays(tmp_path, good=[1], bad=[3])
    good, bad = tmp_path / "good" / "0.json", tmp_path / "bad" / "0.json"
    assert main(["inspect", "diff-tactics", "--good", str(good), "--bad", str(bad)]) == 0
    assert "Tactic: 3)" in capsys.readouterr().out


def test_diff_tactics_says_what_it_lacks(tmp_path) -> None:
    assert main(["inspect", "diff-tactics"]) == 2
    assert main(["inspect", "diff-tactics", "--dir", str(tmp_path / "none")]) == 3
    assert main(["inspect", "diff-tactics", "--good", str(tmp_path), "--bad", str(tmp_path / "none")]) == 3
