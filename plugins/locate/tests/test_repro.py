"""The cases that `polycmp locate` saves."""

from __future__ import annotations

import json
import subprocess
import sys

from toymodels import chain, small


def test_a_saved_case_holds_one_operator_and_repeats_the_fault(polycmp, tmp_path):
    chain(tmp_path / "m.toy", 6, changed=4)
    chain(tmp_path / "good.toy", 6)
    words = ("-b", "toy", "-b", "plain:name=ref,model=good.toy", "--save-repro", "case")
    done = polycmp("locate", "m.toy", *words)
    assert "case: 1 operator; repeat it with: sh case/run.sh" in done.words
    case = tmp_path / "case"
    assert [item["name"] for item in json.loads((case / "model.toy").read_text())["nodes"]] == ["n_h4"]
    assert "MatMul 'n_h4'" in (case / "README.md").read_text()
    script = (case / "run.sh").read_text().replace("polycmp run", f"{sys.executable} -m polycmp run")
    (case / "run.sh").write_text(script)
    again = subprocess.run(["sh", str(case / "run.sh")], capture_output=True, text=True, check=False)
    assert again.returncode == 1, again.stdout + again.stderr
    assert "FAILED: 1 of 1 output differs" in again.stdout


def test_a_fault_of_two_operators_together_is_saved_with_both(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    words = ("-b", "toy:name=fusing,fault=add,at=y,fused=r", "-b", "plain", "--save-repro", "case")
    done = polycmp("locate", "m.toy", *words)
    assert "case: 2 operators" in done.words
    saved = json.loads((tmp_path / "case" / "model.toy").read_text())
    assert [item["op"] for item in saved["nodes"]] == ["Relu", "Softmax"]


def test_a_fault_that_no_part_repeats_is_not_saved(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    words = (
        "-b",
        "toy:fault=add,at=y,beside=[h,r],after=1",
        "-b",
        "plain",
        "--iterations",
        "2",
        "--save-repro",
        "case",
    )
    done = polycmp("locate", "m.toy", *words)
    assert done.status == 0
    assert "nothing to repeat, so no case was saved" in done.words
    assert not (tmp_path / "case").exists()


def test_nothing_to_keep_is_said(locate, tmp_path):
    small(tmp_path / "m.toy")
    done, _ = locate("-b", "toy:fault=add,at=h", "-b", "plain", "--save-marked", "marked.toy")
    assert "no output makes the fault go away, so marked.toy was not written" in done.words
    assert not (tmp_path / "marked.toy").exists()
