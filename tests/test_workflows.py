"""The workflows of this repository: valid, sound, and made of targets that exist; and what else its host reads."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
ACTION = ROOT / ".github" / "actions" / "polycmp" / "action.yml"
EACH = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def lint(schema: str, *paths: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="it is of the group dev")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_are_valid():
    lint("vendor.github-workflows", *WORKFLOWS)


def test_dependabot_is_valid():
    lint("vendor.dependabot", ROOT / ".github" / "dependabot.yml")


def test_the_citation_is_valid():
    lint("vendor.citation-file-format", ROOT / "CITATION.cff")


@EACH
def test_actionlint_finds_nothing(path):
    actionlint = shutil.which("actionlint")
    if actionlint is None:
        pytest.skip("actionlint is not installed: make lint-workflows installs it")
    done = subprocess.run([actionlint, path], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout


@EACH
def test_workflows_call_targets_that_exist(path):
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    called = set(re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8")))
    assert called <= targets


@pytest.mark.parametrize("path", [*WORKFLOWS, ACTION], ids=lambda path: path.name)
def test_actions_of_others_are_named_by_commit_and_tag(path):
    """A tag can be moved; the comment behind the commit is what dependabot reads and raises."""
    used = re.findall(r"uses: (?!\./)(.*)", path.read_text(encoding="utf-8"))
    assert [line for line in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+", line)] == []


@EACH
def test_only_what_publishes_may_write(path):
    text = path.read_text(encoding="utf-8")
    assert re.search(r"^permissions:\n  contents: read$", text, re.MULTILINE)
    assert "secrets." not in text
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert text.count("runs-on:") == text.count("timeout-minutes:")


def test_every_python_of_the_metadata_is_tested():
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    project = (ROOT / "core" / "pyproject.toml").read_text(encoding="utf-8")
    assert [minor for minor in re.findall(r":: (3\.\d+)\"", project) if f'"{minor}"' not in text] == []
