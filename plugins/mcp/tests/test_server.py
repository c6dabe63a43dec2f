"""The server as a client of the protocol's own package sees it: started as a process, asked, and hung up on."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from copied_processes import CopiedProgram

if find_spec("mcp") is None:
    pytest.skip("pip install polycmp-mcp brings mcp", allow_module_level=True)

MINUTES = 240


@asynccontextmanager
async def client_in(folder: Path, *words: str) -> AsyncIterator[Any]:
    """Start the server in a folder, and yield a client of it."""
    import anyio
    from mcp import Client, StdioServerParameters, stdio_client

    # Tools that this environment happens to have are what the server finds; clients hand on few variables.
    env = {key: os.environ[key] for key in ("PYTHONPATH", "POLYCMP_PLUGINS") if key in os.environ}
    server = StdioServerParameters(command=sys.executable, args=["-m", "polycmp", "mcp", *words], cwd=folder, env=env)
    with anyio.fail_after(MINUTES):
        async with Client(stdio_client(server)) as client:
            yield client


def talk(folder: Path, *calls: tuple[str, dict[str, Any]], words: tuple[str, ...] = ()) -> list[Any]:
    """Start the server in a folder, make calls, and return their results."""
    return asyncio.run(results_of(client_in(folder, *words), calls))


def talk_here(folder: Path, *calls: tuple[str, dict[str, Any]], scripts: bool = False) -> list[Any]:
    """Make calls of a server in this process, which works in a folder; return their results.

    What a call starts is a copy of this process.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr("polycmp_mcp.calling.anyio.open_process", open_copy)
        return asyncio.run(results_of(client_here(scripts), calls))


async def open_copy(words: Sequence[str], **options: Any) -> CopiedProgram:
    """Do as `anyio.open_process`, with a copy of this process."""
    return CopiedProgram(words, **options)


def client_here(scripts: bool = False) -> Any:
    """Return a client of a server in this process, which works in the current folder and may run scripts."""
    from mcp import Client

    from polycmp_mcp.calling import Caller
    from polycmp_mcp.server import make_server

    return Client(make_server(Caller(scripts)))


async def results_of(connecting: Any, calls: Iterable[tuple[str, dict[str, Any]]]) -> list[Any]:
    async with connecting as client:
        return [await client.call_tool(name, arguments) for name, arguments in calls]


def answer(result: Any) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return dict(result.structured_content)


def refusal(result: Any) -> str:
    assert result.is_error
    return str(result.content[0].text)


@pytest.fixture
def folder(tmp_path) -> Path:
    values = np.linspace(0, 1, 40, dtype=np.float32)
    np.savez(tmp_path / "old.npz", y=values, z=values)
    np.savez(tmp_path / "new.npz", y=values, z=values + np.float32(0.5))
    return tmp_path


@pytest.fixture
def models(folder) -> Path:
    onnx = pytest.importorskip("onnx")
    for package in ("onnxruntime", "polycmp_onnx", "polycmp_onnxrt", "polycmp_locate"):
        pytest.importorskip(package)
    from small_models import small_model

    onnx.save(small_model(), folder / "model.onnx")
    onnx.save(small_model(seed=1), folder / "other.onnx")
    return folder


def test_a_client_sees_the_tools_and_the_page(folder):
    async def session() -> Any:
        async with client_in(folder) as client:
            page = await client.read_resource("skill://polycmp")
            return client.server_info, client.instructions, await client.list_tools(), page

    info, instructions, tools, page = asyncio.run(session())
    assert info.name == "polycmp"
    assert "backends" in instructions
    by_name = {tool.name: tool for tool in tools.tools}
    assert set(by_name) == {"backends", "run", "compare", "locate", "bisect", "reduce"}
    assert all(tool.description for tool in by_name.values())
    schema = by_name["run"].input_schema
    assert schema["required"] == ["model", "backends"]
    assert all("description" in item for item in schema["properties"].values())
    assert page.contents[0].text.count("| symptom | command |") == 1


def test_compare_answers_with_the_report_shortened_and_backends_with_what_is_installed(folder):
    result, wrong, installed = talk_here(
        folder,
        ("compare", {"new": "new.npz", "old": "old.npz", "options": ["--rtol", "1e-3"]}),
        ("compare", {"new": "old.npz", "old": "old.npz", "folder": str(folder / "missing")}),
        ("backends", {}),
    )
    found = answer(result)
    assert (found["exit_status"], found["verdict"]) == (1, "failed")
    assert found["command"] == "polycmp compare new.npz old.npz --rtol 1e-3"
    [pair] = found["comparison_results"]
    assert "40 of 40 elements differ" in pair["outputs"]["z"]["reason"]
    assert pair["outputs"]["y"]["passed"] is True
    assert "error_distribution" not in pair["outputs"]["z"]
    assert "no such folder" in refusal(wrong)
    found = {item["name"]: item for item in answer(installed)["plugins"]}
    assert found["polycmp"]["state"] == "ok"
    assert "run" in found["polycmp"]["commands"]
    assert "mcp" in found["mcp"]["commands"]


def test_run_locate_and_reduce_work_on_a_model(models):
    pair = {"model": "other.onnx", "reference_model": "model.onnx", "backends": ["onnxrt"]}
    same, differs, located, reduced, missing, slow = talk_here(
        models,
        ("run", {"model": "model.onnx", "backends": ["onnxrt", "onnx"]}),
        ("run", pair),
        ("locate", {**pair, "options": ["--report", "page.json"]}),
        (
            "reduce",
            {"model": "other.onnx", "backends": ["onnxrt", "onnxrt:model=model.onnx"], "output": "small.onnx"},
        ),
        ("run", {"model": "nowhere.onnx", "backends": ["onnxrt"]}),
        ("run", {"model": "model.onnx", "backends": ["onnxrt", "onnx"], "seconds": 0.01}),
    )
    assert (answer(same)["exit_status"], answer(same)["verdict"]) == (0, "passed")
    assert answer(differs)["exit_status"] == 1
    assert answer(located)["first_bad"] == "h"
    assert answer(located)["sentence"].startswith("wrong: ")
    assert json.loads((models / "page.json").read_text())["first_bad"] == "h"
    assert answer(reduced)["exit_status"] == 0
    assert (models / "small.onnx").is_file()
    assert "no such model file: nowhere.onnx" in refusal(missing)
    assert "longer than 0.01 s" in refusal(slow)


def test_bisect_is_the_command(folder):
    pytest.importorskip("polycmp_bisect")
    [result] = talk_here(
        folder, ("bisect", {"model": "nowhere.onnx", "backends": ["onnxrt", "onnx"], "over": "passes"})
    )
    assert "nowhere.onnx" in refusal(result)


#: Two backends, and what a call asks for besides.
PAIR = {"model": "model.onnx", "backends": ["onnxrt", "onnx"]}
BISECT = {**PAIR, "over": "onnxruntime"}

CODE = {
    "a model that is a script": ("run", {"model": "m.py", "backends": ["onnxrt"]}),
    "a second model that is a script": ("run", {**PAIR, "backends": ["onnxrt", "trt:model=m.py"]}),
    "an interpreter": ("run", {**PAIR, "backends": ["onnxrt:python=/tmp/python"]}),
    "an interpreter after another option": ("run", {**PAIR, "backends": ["onnxrt:threads=1,python=/tmp/python"]}),
    "a script": ("run", {**PAIR, "options": ["--data-loader-script", "inputs.py"]}),
    "a script in one word": ("run", {**PAIR, "options": ["--data-loader-script=inputs.py"]}),
    "a script by a beginning of its option": ("run", {**PAIR, "options": ["--data-loader-s", "inputs.py"]}),
    "a script in a list in a file": ("run", {**PAIR, "options": ["--onnx-ops", "@list.txt"]}),
    "a run file": ("run", {**PAIR, "options": ["--config", "run.toml"]}),
    "a library of any name": ("run", {**PAIR, "backends": ["onnxrt:op_libs=evil.bin", "onnx"]}),
    "a library by its flag": ("run", {**PAIR, "options": ["--op-libs", "evil.bin"]}),
    "a library of a wrapped backend": (
        "run",
        {**PAIR, "backends": ["faulty:backend=onnxrt,fault=fp16,at=h,wrapped=[op_libs:evil.bin]", "onnx"]},
    ),
    "a library in a provider's options": (
        "run",
        {**PAIR, "backends": ["onnxrt:providers=[tensorrt[trt_extra_plugin_lib_paths=evil.bin]]", "onnx"]},
    ),
    "a file in a session entry": ("run", {**PAIR, "options": ["--onnxrt-config", "ep.context_file_path:evil.bin"]}),
    "packages beside a release": ("run", {**PAIR, "backends": ["onnxrt:version=[1.20.1,evil==1.0]", "onnx"]}),
    "a package in place of a release": ("run", {**PAIR, "backends": ["onnxrt:version=evil @ file:///e.whl", "onnx"]}),
    "a rule of steps": ("run", {**PAIR, "options": ["--steps", "2", "--feed", "x=evil.py:f"]}),
    "a check": ("reduce", {**PAIR, "options": ["--check", "rm"]}),
    "a command": ("bisect", {**BISECT, "options": ["--", "touch", "ran", "model.onnx"]}),
    "a command for passes": (
        "bisect",
        {**PAIR, "over": "passes", "options": ["--passes", "a", "--", "touch", "ran", "model.onnx", "{passes}"]},
    ),
    "wheels": ("bisect", {**BISECT, "options": ["--find-links", "wheels"]}),
    "packages beside": ("bisect", {**BISECT, "options": ["--with", "evil==1.0"]}),
    "a package that no backend needs": ("bisect", {**PAIR, "over": "evil"}),
}


#: One for each way in which code can be named; each call starts a command.
FEW = ("a model that is a script", "an interpreter", "a script in one word", "a library of any name",
       "packages beside a release", "a command")  # fmt: skip


@pytest.mark.parametrize("names", [FEW, pytest.param(tuple(CODE), marks=pytest.mark.corpus)], ids=["a few", "all"])
def test_a_call_runs_no_code_and_installs_nothing_that_it_names(models, names):
    """All in one server, which is started once; what ran would leave a file."""
    pytest.importorskip("polycmp_bisect")
    pytest.importorskip("polycmp_checks")
    code = "from pathlib import Path\nPath('ran').touch()\n"
    for name in ("m.py", "inputs.py", "evil.py"):
        (models / name).write_text(code)
    (models / "list.txt").write_text("inputs.py\n")
    (models / "run.toml").write_text('data-loader-script = "inputs.py"\n')
    (models / "evil.bin").write_bytes(b"")
    results = talk_here(models, *(CODE[name] for name in names))
    wrong = {
        what: refusal(found) for what, found in zip(names, results, strict=True) if "names code" not in refusal(found)
    }
    assert wrong == {}
    assert not (models / "ran").exists()


def test_words_without_dashes_are_no_command(models):
    pytest.importorskip("polycmp_bisect")
    words = ["touch", "ran", "model.onnx", "{passes}", "--passes", "a"]
    [found] = talk_here(models, ("bisect", {**PAIR, "over": "passes", "options": words}))
    assert "follows --" in refusal(found)
    assert not (models / "ran").exists()


def test_what_chooses_how_a_model_is_computed_is_passed_on(models):
    pytest.importorskip("polycmp_checks")
    harmless = [
        {"backends": ["onnxrt:config=[session.disable_prepacking:1],optimization=off", "onnx"]},
        {"backends": ["onnxrt:providers=cpu", "onnx"]},
        {"options": ["--compare", "l2", "--l2-tolerance", "1e-3", "--seed", "3"]},
    ]
    for found in talk_here(models, *(("run", {**PAIR, **item}) for item in harmless)):
        assert answer(found)["exit_status"] == 0


@pytest.fixture
def elsewhere(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


#: One for each answer that a file to write can get.
FEW_FILES = ("outside", "outside by a link", "over a file", "into a folder with files", "a folder of settings")


@pytest.mark.parametrize("names", [FEW_FILES, pytest.param(None, marks=pytest.mark.corpus)], ids=["a few", "all"])
def test_a_call_writes_new_files_below_its_folder_only(models, elsewhere, names):
    (models / "link").symlink_to(elsewhere)
    mine = models / "mine.txt"
    mine.write_text("mine")
    saved = models / "saved"
    saved.mkdir()
    (saved / "mine.npz").write_bytes(b"mine")
    refused = {
        "outside": ["--log-file", str(elsewhere / "log.txt")],
        "outside by a link": ["--save-outputs", "link/o.npz"],
        "outside by dots": ["--report", "../r.html"],
        "a run file outside": ["--write-config", str(elsewhere / "c.toml")],
        "by a backend": ["--onnxrt-save-optimized", str(elsewhere / "m.onnx")],
        "a cache": ["--openvino-cache-dir", str(elsewhere)],
        "over a file": ["--log-file", "mine.txt"],
        "over the model": ["--save-inputs", "other.onnx"],
        "over a link to a file": ["--log-file", "to_mine"],
        "into a folder with files": ["--save-outputs", "saved"],
        "a file of settings": ["--log-file", ".profile"],
        "a folder of settings": ["--log-file", ".config/autostart/x.desktop"],
        "beside": ["--save-onnx", "n.onnx", "--save-external-data"],
    }
    refused = {name: refused[name] for name in names or refused}
    (models / "to_mine").symlink_to(mine)
    before = {path: path.read_bytes() for path in models.rglob("*") if path.is_file()}
    results = talk_here(models, *(("run", {**PAIR, "options": words}) for words in refused.values()))
    known = ("writes outside", "would write over", "hidden place", "does not name", "openvino", "overwrite")
    wrong = {
        what: refusal(found)
        for what, found in zip(refused, results, strict=True)
        if not any(words in refusal(found) for words in known)
    }
    assert wrong == {}
    assert {path: path.read_bytes() for path in models.rglob("*") if path.is_file()} == before
    assert not list(elsewhere.iterdir())


def test_a_call_may_write_over_what_an_earlier_call_left_until_somebody_changes_it(models, monkeypatch):
    monkeypatch.chdir(models)
    call = ("run", {**PAIR, "options": ["--log-file", "log.txt", "--save-outputs", "runs"]})

    async def session() -> list[Any]:
        async with client_here() as client:
            found = [await client.call_tool(*call), await client.call_tool(*call)]
            (models / "log.txt").write_text("a remark of mine")
            return [*found, await client.call_tool(*call)]

    first, again, changed = asyncio.run(session())
    assert answer(first)["exit_status"] == answer(again)["exit_status"] == 0
    assert "would write over" in refusal(changed)
    assert (models / "log.txt").read_text() == "a remark of mine"


def test_the_small_model_is_written_over_nothing(models):
    (models / "other_reduced.onnx").write_bytes(b"mine")
    pair = {"model": "other.onnx", "backends": ["onnxrt", "onnxrt:model=model.onnx"]}
    [found] = talk_here(models, ("reduce", pair))
    assert "would write over" in refusal(found)
    assert (models / "other_reduced.onnx").read_bytes() == b"mine"


def test_folders_to_write_to_may_be_named_and_then_are_the_only_ones(models, elsewhere):
    calls = [("run", {**PAIR, "options": ["--log-file", str(place / "log.txt")]}) for place in (elsewhere, models)]
    allowed, refused = talk(models, *calls, words=("--allow-writes", str(elsewhere)))
    assert answer(allowed)["exit_status"] == 0
    assert (elsewhere / "log.txt").is_file()
    assert "writes outside" in refusal(refused)


def test_what_no_process_can_be_given_is_answered_in_words(folder):
    pair = {"new": "new.npz", "old": "old.npz"}
    results = talk_here(
        folder,
        ("compare", {**pair, "new": "a\0b.npz"}),
        ("compare", {**pair, "options": ["--map-output", "a\0=b"]}),
        ("compare", {**pair, "folder": "f\0"}),
        ("compare", {**pair, "folder": "f" * 5000}),
        ("compare", {**pair, "new": "n" * 5000}),
        ("compare", {**pair, "options": ["--map-output", "a=" + "b" * 200_000]}),
        ("run", {"model": "m.onnx", "backends": ["onnx"] * 100_000}),
        ("compare", {**pair, "seconds": float("inf")}),
        ("compare", {**pair, "seconds": float("nan")}),
        ("compare", pair),
    )
    said = [refusal(found) for found in results[:-1]]
    assert not [text for text in said if re.fullmatch(r"Error executing tool \w+\W*", text)]
    for text, words in zip(said, ["NUL"] * 3 + ["no such folder", "nnn", "characters", "characters"], strict=False):
        assert words in text
    assert all("seconds" in text for text in said[-2:])
    assert answer(results[-1])["exit_status"] == 1


def test_a_call_that_is_taken_back_leaves_no_process(models):
    (models / "inputs.py").write_text(
        "import os, time\nfrom pathlib import Path\ndef load_data():\n"
        "    Path('new').write_text(str(os.getpid()))\n    Path('new').rename('pid')\n"
        "    time.sleep(600)\n    yield {}\n",
        encoding="utf-8",
    )
    arguments = {"model": "model.onnx", "backends": ["onnxrt"], "options": ["--data-loader-script", "inputs.py"]}

    async def session() -> None:
        import anyio

        async with client_in(models, "--allow-scripts") as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "run", arguments)
                while not (models / "pid").exists():
                    await anyio.sleep(0.05)
                group.cancel_scope.cancel()
            while is_running(int((models / "pid").read_text())):
                await anyio.sleep(0.05)

    asyncio.run(session())


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_scripts_run_where_the_server_allows_them(models):
    (models / "inputs.py").write_text("import numpy as np\ndef load_data():\n    yield {}\n", encoding="utf-8")
    arguments = {"model": "model.onnx", "backends": ["onnxrt"], "options": ["--data-loader-script", "inputs.py"]}
    [refused] = talk_here(models, ("run", arguments))
    assert "--allow-scripts" in refusal(refused)
    [allowed] = talk_here(models, ("run", arguments), scripts=True)
    text = allowed.content[0].text
    assert "names code" not in text
    assert "no value" in text or "input" in text  # the script gave no input


def test_nothing_runs_on_when_the_client_hangs_up(folder):
    """The server ends, and says nothing on its standard output but messages of the protocol."""
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", "mcp"], cwd=folder, input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
