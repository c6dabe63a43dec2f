"""The package of docs/writing-a-command.md, as a third party would install it, on the toy box."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from commandline import before_on_path
from fakes import FakeSite
from toymodels import small

from polycmp._toml import parse_toml

PAGE = Path(__file__).parents[4] / "docs" / "writing-a-command.md"
WRONG = "toy:fault=scale,at=r,amount=0.5"
PROCESSES = {"here": (), "in workers": ("--use-subprocess",), "elsewhere": (f"python={sys.executable}",)}


@pytest.fixture(autouse=True)
def drift(tmp_path_factory, monkeypatch):
    """Install the package of the page."""
    site = FakeSite(tmp_path_factory.mktemp("drift"))
    blocks = re.findall(r"^```(?:python|toml)\n# (\S+)\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    files = {**dict(blocks), "polycmp_drift/__init__.py": ""}
    declared = parse_toml(files.pop("pyproject.toml"))
    project, [package] = declared["project"], declared["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert [name.partition("/")[0] for name in files] == [package] * 5
    points = project["entry-points"]["polycmp"]
    site.install(project["name"], points, files, version=project["version"], requires=project["dependencies"])
    monkeypatch.syspath_prepend(str(site.folder))
    before_on_path(monkeypatch, site.folder)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "polycmp_drift"]:
        del sys.modules[name]


@pytest.mark.parametrize("where", PROCESSES)
def test_it_walks_the_tensors_inside_a_model(polycmp, tmp_path, where):
    small(tmp_path / "m.toy")
    words = PROCESSES[where]
    key = "".join(f",{word}" for word in words if word.startswith("python="))
    flags = [word for word in words if word.startswith("--")]
    files = ("--report", "r.json", "--report", "r.tsv", "--save-names", "names")
    done = polycmp("drift", "m.toy", "-b", WRONG + key, "-b", "plain", *flags, *files)
    assert done.status == 1, done.err
    assert "FAILED: 2 of 3 tensors are further apart than 0.001" in done.words
    found = done.report()["drift"]
    assert list(found) == ["h", "r", "y"]
    assert found["h"] == 0 < found["y"] < found["r"]
    assert (tmp_path / "names").read_text().split() == ["r", "y"]
    lines = (tmp_path / "r.tsv").read_text().splitlines()
    assert [line.split("\t")[:2] for line in lines[1:]] == [["h", "passed"], ["r", "failed"], ["y", "failed"]]


def test_it_is_the_next_step_after_a_difference(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    done = polycmp("run", "m.toy", "-b", WRONG, "-b", "plain", "--seed", "3", "--warm-up", "1")
    assert done.status == 1
    step = next(line for line in done.out.splitlines() if line.startswith("  next: polycmp drift m.toy"))
    words = shlex.split(step)[2:]
    assert words[-2:] == ["--seed", "3"]
    assert "FAILED: 2 of 3 tensors" in polycmp(*words).words
    assert "polycmp drift" not in polycmp("run", "m.toy", "-b", "toy", "-b", "plain").out


def test_its_report_works_for_run_too(polycmp, tmp_path):
    small(tmp_path / "m.toy")
    assert polycmp("run", "m.toy", "-b", "toy", "-b", "plain", "--report", "r.tsv").status == 0
    assert (tmp_path / "r.tsv").read_text().startswith("PASSED")


def test_it_stands_beside_our_own_commands(polycmp):
    assert "drift Show how far two backends drift apart." in " ".join(polycmp("--help").out.split())
    shown = polycmp("drift", "--help").out
    assert shown.index("Examples:") < shown.index("polycmp drift model.onnx") < shown.index("Options:")
    checked = polycmp("plugins", "check", "drift")
    assert (checked.status, "polycmp-drift" in checked.out) == (0, True), checked.out + checked.err
    shown = polycmp("drift", "--help", "all").out
    assert all(flag in shown for flag in ("--limit", "--toy-dtype", "--input-shapes", "--max-memory", "-b, --backend"))
    assert not any(flag in shown for flag in ("--warm-up", "--fail-fast", "--load-outputs"))


@pytest.mark.parametrize(
    ("words", "status", "says"),
    [
        ((), 2, "no backend given"),
        (("-b", "toy"), 2, "two backends are needed"),
        (("-b", "toy", "-b", "plain", "--save-names", "m.toy"), 2, "--save-names would overwrite what MODEL reads"),
        (("-b", "toy", "-b", "plain", "--warm-up", "1"), 2, "--warm-up"),
        (("-b", "trt", "-b", "plain"), 3, "pip install 'polycmp-trt"),
        (("-b", "toy", "-b", "plain", "--limit", "high"), 2, "--limit"),
    ],
)
def test_wrong_usage_is_answered_as_for_our_own(polycmp, tmp_path, words, status, says):
    small(tmp_path / "m.toy")
    done = polycmp("drift", "m.toy", *words)
    assert done.status == status
    assert says in done.err
