"""The server as a client of the protocol's own package sees it: started as a process, asked, and hung up on."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

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

    async def session() -> list[Any]:
        async with client_in(folder, *words) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


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
    result, wrong, installed = talk(
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
    same, differs, located, reduced, missing, slow = talk(
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
    [result] = talk(folder, ("bisect", {"model": "nowhere.onnx", "backends": ["onnxrt", "onnx"], "over": "passes"}))
    assert "nowhere.onnx" in refusal(result)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("run", {"model": "m.py", "backends": ["onnxrt"]}),
        ("run", {"model": "m.onnx", "backends": ["onnxrt:python=/tmp/python"]}),
        ("run", {"model": "m.onnx", "backends": ["onnxrt"], "options": ["--data-loader-script", "inputs"]}),
        ("run", {"model": "m.onnx", "backends": ["onnxrt"], "options": ["--data-loader-script=inputs"]}),
        ("run", {"model": "m.onnx", "backends": ["onnxrt"], "options": ["--config", "run.toml"]}),
        ("run", {"model": "m.onnx", "backends": ["trt:plugins=evil.so"]}),
        ("run", {"model": "--config=run.toml", "backends": ["onnxrt"]}),
        ("reduce", {"model": "m.onnx", "backends": [], "options": ["--check", "rm"]}),
        ("bisect", {"model": "m.onnx", "backends": [], "over": "x", "options": ["--", "rm"]}),
    ],
)
def test_what_names_code_is_refused(tool, arguments):
    from mcp.server.mcpserver.exceptions import ToolError

    from polycmp.plugins import Registry
    from polycmp_mcp.server import Tools
    from polycmp_mcp.trust import Trust

    for package in ("polycmp_bisect", "polycmp_locate"):
        pytest.importorskip(package)
    tools = Tools(Trust(Registry.discover()))
    with pytest.raises(ToolError, match=r"names code to run|is no path"):
        asyncio.run(getattr(tools, tool)(**arguments))


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
    [refused] = talk(models, ("run", arguments))
    assert "--allow-scripts" in refusal(refused)
    [allowed] = talk(models, ("run", arguments), words=("--allow-scripts",))
    text = allowed.content[0].text
    assert "names code" not in text
    assert "no value" in text or "input" in text  # the script gave no input


def test_nothing_runs_on_when_the_client_hangs_up(folder):
    """The server ends, and says nothing on its standard output but messages of the protocol."""
    done = subprocess.run(
        [sys.executable, "-m", "polycmp", "mcp"], cwd=folder, input="", capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
