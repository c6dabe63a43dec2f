"""`polycmp suite schema`: what an editor is given to check files with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from suite_texts import HEAD, case

TEXT = HEAD + case("one", 'input-shapes = ["x:[1,4]"]')


def test_the_command_writes_both_and_names_the_commands_that_have_run_files(suite):
    suite("schema", "suite.schema.json", status=0)
    assert json.loads((suite.folder / "suite.schema.json").read_text())["title"] == "Suite file of polycmp"
    assert '"title": "Run file of polycmp"' in suite("schema", "--run-file", "run", status=0).stdout
    assert "did you mean 'run'?" in suite("schema", "--run-file", "rum", status=2).stderr


def test_an_editor_finds_the_typo(suite):
    taplo = Path(sys.executable).with_name("taplo")
    if not taplo.exists():
        pytest.skip("taplo is not installed: it is of the group dev")
    suite("schema", "suite.schema.json", status=0)

    def lint(text):
        suite.write(f"#:schema ./suite.schema.json\n{text}")
        done = subprocess.run(
            [taplo, "lint", "suite.toml"], cwd=suite.folder, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    assert lint(TEXT)[0] == 0
    status, said = lint(TEXT.replace("input-shapes", "input-shaps"))
    assert status != 0
    assert "'input-shaps' was unexpected" in said
