"""A suite whose cases run here, on a server, and on another machine: each fails alone, and no secret is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from in_process import run_cases_here
from ssh_server import ssh_of_session, ssh_server

__all__ = ["ssh_of_session", "ssh_server"]
SECRETS = {"TRITON_TOKEN": "Bearer hunter2", "OTHER_TOKEN": "Bearer swordfish"}
SUITE = """
[defaults]
model = "model.onnx"

[[case]]
name = "here"
backends = ["onnxrt", "onnx"]

[[case]]
name = "served"
backends = ["oip:url={url},header_env=[Authorization:TRITON_TOKEN]", "onnxrt"]

[[case]]
name = "there"
backends = ["onnxrt:ssh=me@board,python={python}", "onnxrt"]

[[case]]
name = "no server"
backends = ["oip:url=http://localhost:1,model_name=m,header_env=[Authorization:TRITON_TOKEN]", "onnxrt"]

[[case]]
name = "not let in"
backends = ["oip:url={url},header_env=[Authorization:OTHER_TOKEN]", "onnxrt"]

[[case]]
name = "no machine"
backends = ["onnxrt:ssh=me@nowhere.invalid", "onnxrt"]

[[case]]
name = "no python there"
backends = ["onnxrt:ssh=board,python=nothing", "onnxrt"]
"""
SAID = {
    "no server": "no server answers at http://localhost:1",
    "not let in": "does not let this client ask for model",
    "no machine": "no connection to me@nowhere.invalid",
    "no python there": "board has no nothing",
}


@pytest.fixture
def guarded(model, monkeypatch):
    """Return the address of the model on a server that wants a token, and repeats a wrong one."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "plugins" / "oip" / "tests"))
    from served import Refused, http_server

    def respond(handler):
        token = handler.headers.get("Authorization")
        if token != SECRETS["TRITON_TOKEN"]:
            raise Refused(401, f"{token!r} is not let in")

    with http_server() as state:
        state.respond = respond
        yield state.serve(model.read_bytes())


@pytest.mark.usefixtures("ssh_server")
def test_places_fail_alone_and_secrets_stay_in_variables(polycmp, guarded, tmp_path, monkeypatch):
    run_cases_here(monkeypatch)
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    (tmp_path / "places.toml").write_text(SUITE.format(url=guarded, python=sys.executable))
    reports = ("junit.xml", "summary.md", "r.json", "r.html")
    done = polycmp("suite", "places.toml", "--report", *reports, "--history", "runs.sqlite")
    assert done.status == 3, done.out + done.err
    cases = {case["case"]: case for case in json.loads((tmp_path / "r.json").read_text())["cases"]}
    assert [name for name, case in cases.items() if case["state"] == "passed"] == ["here", "served", "there"]
    assert {name: case["state"] for name, case in cases.items() if name in SAID} == dict.fromkeys(SAID, "error")
    for name, said in SAID.items():
        assert said in cases[name]["reason"]
        assert "\n" not in cases[name]["reason"]
    texts = [
        done.out,
        done.err,
        *(path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()),
    ]
    assert len(texts) > 20  # pages, logs and reports of all cases
    for secret in ("hunter2", "swordfish"):
        assert [text for text in texts if secret in text] == []
