"""The workflows that docs/ci.md shows, and the composite action: linted, and their steps run as written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import pytest
from sarif_check import wrong_in
from small_models import small_model
from test_workflows import lint

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
ACTION = ROOT / ".github" / "actions" / "polycmp" / "action.yml"
FILES = {
    match[1]: match[0].removeprefix("```yaml\n").removesuffix("```")
    for match in re.finditer(r"```yaml\n# (\S+)\n.*?```", PAGE, re.DOTALL)
}
SUITE = '[[case]]\nmodel = "model.onnx"\nbackends = ["onnxrt", "onnx"]\n'


def load(text: str) -> Any:
    yaml = pytest.importorskip("ruamel.yaml", reason="it comes with check-jsonschema, of the group dev")
    return yaml.YAML(typ="safe").load(text)


@pytest.fixture
def folder(tmp_path) -> Path:
    onnx.save(small_model(), tmp_path / "model.onnx")
    (tmp_path / "models.toml").write_text(SUITE)
    return tmp_path


def run_step(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a step as GitHub's runners do."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": path, "GITHUB_ACTIONS": "true", **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


@pytest.mark.parametrize("host", ["gitlab-ci", "github-workflows"])
def test_the_workflows_are_valid(host, tmp_path):
    paths = []
    for name in (name for name in FILES if ("gitlab" in name) == (host == "gitlab-ci")):
        paths.append(tmp_path / Path(name).name)
        paths[-1].write_text(FILES[name], encoding="utf-8")
    assert paths
    lint(f"vendor.{host}", *paths)


def test_the_action_is_valid():
    lint("vendor.github-actions", ACTION)


def test_a_wrong_workflow_is_noticed(tmp_path):
    wrong = tmp_path / "models.yml"
    wrong.write_text(FILES[".github/workflows/models.yml"].replace("runs-on", "run-on"))
    with pytest.raises(AssertionError, match="run-on"):
        lint("vendor.github-workflows", wrong)


def test_the_steps_of_the_workflow_run_as_written(folder):
    job = load(FILES[".github/workflows/models.yml"])["jobs"]["suite"]
    steps = {step["name"]: step for step in job["steps"] if "run" in step}
    assert set(steps) == {"Install", "Compare"}, "only what installs is not run here"
    done = run_step(steps["Compare"]["run"], folder, GITHUB_STEP_SUMMARY=str(folder / "step.md"))
    assert done.returncode == 0, done.stdout + done.stderr
    kept = next(step for step in job["steps"] if "upload-artifact" in step.get("uses", ""))["with"]["path"].split()
    assert all((folder / path).exists() for path in kept)
    assert (folder / "results/latest/index.html").is_file()
    assert "PASSED" in (folder / "step.md").read_text()


@pytest.mark.corpus  # those of the action do, too
def test_the_alerts_that_the_page_uploads_stand_in_the_suite_file(folder):
    job = load(FILES[".github/workflows/models-alerts.yml"])["jobs"]["suite"]
    steps = {step["name"]: step for step in job["steps"] if "name" in step}
    onnx.save(small_model(seed=1), folder / "other.onnx")
    bad = '[[case]]\nname = "bad"\nmodel = "model.onnx"\nbackends = ["onnxrt", "onnxrt:model=other.onnx"]\n'
    (folder / "models.toml").write_text(SUITE + bad)
    done = run_step(steps["Compare"]["run"], folder)
    assert done.returncode == 1, done.stdout + done.stderr
    log = json.loads((folder / steps["Upload alerts"]["with"]["sarif_file"]).read_text(encoding="utf-8"))
    assert wrong_in(log) == []
    [alert] = log["runs"][0]["results"]
    place = alert["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("models.toml", 4)
    assert "bad" in alert["message"]["text"]


@pytest.mark.corpus  # as GitHub's steps do
def test_the_script_of_gitlab_runs_as_written(folder):
    job = load(FILES[".gitlab-ci.yml"])["models"]
    done = run_step("\n".join(job["script"]), folder, GITHUB_ACTIONS="")
    assert done.returncode == 0, done.stdout + done.stderr
    kept = [*job["artifacts"]["paths"], job["artifacts"]["reports"]["junit"]]
    assert all((folder / path).exists() for path in kept)


def test_the_action_fails_with_the_suite_and_keeps_its_results(folder):
    onnx.save(small_model(seed=1), folder / "other.onnx")
    (folder / "models.toml").write_text(
        SUITE + '[[case]]\nname = "bad"\nmodel = "model.onnx"\nbackends = ["onnxrt", "onnxrt:model=other.onnx"]\n'
    )
    action = load(ACTION.read_text())
    step = next(step for step in action["runs"]["steps"] if step["name"] == "Compare")
    output = folder / "output"
    environment = {"SUITE": "models.toml", "ARGUMENTS": action["inputs"]["arguments"]["default"]}
    done = run_step(step["run"], folder, GITHUB_OUTPUT=str(output), **environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "::error file=models.toml,line=4,title=" in done.stdout
    assert output.read_text() == "results=polycmp-results/latest\n"
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    kept = steps["Keep pages and results"]["with"]["path"].split()
    assert {"polycmp-results/latest/", "polycmp-junit.xml", "polycmp.md"} < set(kept)
    assert [path for path in kept if not (folder / path).exists()] == []
    alerts = folder / steps["Upload alerts"]["with"]["sarif_file"]
    assert wrong_in(json.loads(alerts.read_text(encoding="utf-8"))) == []


def test_the_page_names_every_input_of_the_action():
    action = load(ACTION.read_text())
    table = PAGE.partition("| input | means |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == set(action["inputs"])


def test_the_action_stands_where_the_page_says():
    used = load(FILES[".github/workflows/models-short.yml"])["jobs"]["suite"]["steps"][-1]
    assert (ROOT / used["uses"] / "action.yml").is_file()
    assert set(used["with"]) <= set(load(ACTION.read_text())["inputs"])


def test_the_hooks_of_pre_commit_do_what_the_page_says(folder):
    hooks = {hook["id"]: hook for hook in load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    shown = next(text for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if text.startswith("repos:"))
    asked = {hook["id"]: hook.get("args", []) for hook in load(shown)["repos"][0]["hooks"]}
    assert set(asked) == set(hooks)
    for name, hook in hooks.items():
        assert {"name", "entry", "language"} <= set(hook)
        assert re.search(hook["files"], "models/a.onnx")
        # pre-commit takes the entry apart as a shell does, and puts arguments and files after it.
        files = [] if hook.get("pass_filenames") is False else ["model.onnx", "model.onnx"]
        done = run_step(" ".join([hook["entry"], *asked[name], *files]), folder)
        assert done.returncode == 0, done.stdout + done.stderr
    (folder / "broken.onnx").write_bytes(b"no model")
    done = run_step(f"{hooks['polycmp-lint']['entry']} broken.onnx model.onnx", folder)
    assert done.returncode == 1
