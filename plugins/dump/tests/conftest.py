"""Commands in the tests' process: fixtures of all tests here."""

import shutil
import sys
from pathlib import Path

import onnx
import pytest
from onnx_commands import (  # noqa: F401 - fixtures
    polycmp,
    signals_as_a_terminal_has_them,
)

sys.path.insert(0, str(Path(__file__).parent))

import dumping_devices as devices


@pytest.fixture(scope="module")
def dumped(tmp_path_factory) -> Path:
    """A folder with a model and a dump of it, made once."""
    folder = tmp_path_factory.mktemp("dumped")
    model = onnx.load(devices.resnet(str(folder / "model.onnx")))
    iterations = [devices.run_on_device(model, feed, devices.half) for feed in devices.feeds_of(model, 2)]
    devices.write_raw(folder / "out", iterations)
    return folder


@pytest.fixture
def dump(polycmp, dumped):  # noqa: F811 - the fixture
    """Compare the dump under a map, after a change of its files."""
    shutil.copytree(dumped, ".", dirs_exist_ok=True)

    def run(text: str = devices.HALF, *words: str, command: str = "run"):
        Path("dump.toml").write_text(text)
        done = polycmp(command, "model.onnx", "-b", "dump:map=dump.toml,name=phone", "-b", "onnxrt", *words)
        return done.__class__(done.status, " ".join(done.out.split()), " ".join(done.err.split()))

    return run
