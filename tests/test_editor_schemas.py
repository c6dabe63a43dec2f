"""The schemas that editors check TOML files with: they accept what polycmp reads, and refuse a typo where it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from editor_schemas import wrong_in
from hypothesis import HealthCheck, given, settings
from in_parts import PARTS, in_parts
from in_process import plugins_installed
from plans import plans_of

from polycmp.plan import to_values

ROOT = Path(__file__).parents[1]
PAGES = {path.relative_to(ROOT).as_posix(): path for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]}
BLOCKS = {
    f"{name}:{number}": text
    for name, path in PAGES.items()
    for number, text in enumerate(re.findall(r"^```toml\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE))
}
SUITES = {name: text for name, text in BLOCKS.items() if "[[case]]" in text}
PIPELINES = {name for name, text in BLOCKS.items() if "[[stage]]" in text}
RUN_FILES = {
    name: text
    for name, text in BLOCKS.items()
    if name not in PIPELINES and re.search(r"^backend = ", text, re.MULTILINE)
}
REGISTRY = plugins_installed()
SUITE = """
[defaults]
backends = ["onnxrt", "onnx"]
timeout = 60
[[case]]
model = "model.onnx"
input-shapes = ["image:[1,3,32,32]"]
"""


def test_the_pages_show_both_kinds():
    assert len(SUITES) >= 2
    assert any(name.startswith("docs/command-line.md:") for name in RUN_FILES.keys() - SUITES.keys())


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_on_the_pages_is_accepted(name):
    assert wrong_in(SUITES[name], REGISTRY) == []


@pytest.mark.parametrize("name", RUN_FILES.keys() - SUITES.keys())
def test_every_run_file_on_the_pages_is_accepted(name):
    assert wrong_in(RUN_FILES[name], REGISTRY, "run") == []


@in_parts
@settings(max_examples=50 // PARTS, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans_of(REGISTRY))
def test_every_run_file_that_polycmp_writes_is_accepted(part, plan):
    assert wrong_in(to_values(plan, REGISTRY), REGISTRY, "run") == []


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("input-shapes", "input-shaps", "input-shaps"),
        ("timeout = 60", "timeuot = 60", "timeuot"),
        ("timeout = 60", "timeout = 0", "$.defaults.timeout"),
        ("[[case]]", "[[cases]]", "cases"),
        ("[[case]]", "[case]", "$.case"),
        ("timeout = 60", 'expected-failure = { why = "x" }', "why"),
        ("timeout = 60", 'report = "r.html"', "report"),
        ("[defaults]", 'command = "locate"\n[defaults]', "command"),
        ('model = "model.onnx"', 'command = "locat"', "locat"),
        ('model = "model.onnx"', 'command = "locate"\nwarm-up = 3', "warm-up"),
        ('model = "model.onnx"', 'command = "locate"\nwarm_up = 3', "warm_up"),
        ('model = "model.onnx"', "[case.matrix]\natol = 3", "matrix.atol"),
        ('"onnx"]', '{ backend = "onnxrt", options = { treads = 1 } }]', "treads"),
    ],
)
def test_a_mistake_in_a_suite_is_refused_where_it_stands(before, after, said):
    assert wrong_in(SUITE, REGISTRY) == []
    changed = SUITE.replace(before, after)
    assert changed != SUITE
    assert any(said in told for told in wrong_in(changed, REGISTRY))


@pytest.mark.parametrize(
    "line",
    [
        "input_shapes = { image = [1, 3, 32, 32] }",
        'shapes = "image:[1,3,32,32]"',
        "atol = 1",
        'atol = "1e-3"',
        'atol = ["y:1e-3", "z:inf"]',
        "atol = { y = 1e-3, z = inf }",
        "allow-blind = true",
        'allow-blind = ["cache.*"]',
        'memory = "4G"',
        "memory = 4000000",
        'tags = "smoke"',
        'expected_failure = { reason = "known", until = 2027-01-31, verdict = "blind" }',
        "options = { timeout = 5 }",
        'matrix = { atol = { tight = 1e-6, loose = 1e-3 }, model = ["a.onnx", "b.onnx"] }',
    ],
)
def test_every_spelling_of_a_value_is_accepted(line):
    assert wrong_in(SUITE.replace('model = "model.onnx"', line), REGISTRY) == []


def test_the_command_writes_both_and_names_the_commands_that_have_run_files(polycmp, tmp_path):
    assert polycmp("suite", "schema", "suite.schema.json").status == 0
    done = polycmp("suite", "schema", "--run-file", "run")
    assert done.status == 0
    assert '"title": "Run file of polycmp"' in done.out
    done = polycmp("suite", "schema", "--run-file", "rum")
    assert done.status == 2
    assert "did you mean 'run'?" in done.err


def test_an_editor_finds_the_typo(polycmp, tmp_path):
    taplo = Path(sys.executable).with_name("taplo")
    if not taplo.exists():
        pytest.skip("taplo is not installed: it is of the group dev")
    assert polycmp("suite", "schema", "suite.schema.json").status == 0

    def lint(text):
        (tmp_path / "suite.toml").write_text(f"#:schema ./suite.schema.json\n{text}", encoding="utf-8")
        done = subprocess.run([taplo, "lint", "suite.toml"], cwd=tmp_path, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert lint(SUITE)[0] == 0
    status, said = lint(SUITE.replace("input-shapes", "input-shaps"))
    assert status != 0
    assert "'input-shaps' was unexpected" in said
