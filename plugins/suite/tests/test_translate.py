"""Settings of a case, of its run file and of all cases as a command."""

from __future__ import annotations

from in_process import plugins_installed

from polycmp.cli.main import run as run_command


def test_a_run_file_is_a_case(suite, monkeypatch):
    """What `polycmp run --write-config` writes is what a case reads."""
    words = ["run", "one.onnx", "-b", "onnxrt:optimization=off", "-b", "onnx", "--rtol", "0.05"]
    monkeypatch.chdir(suite.folder)
    assert run_command([*words, "--write-config", "c.toml"], plugins_installed()) == 0
    suite.write('[[case]]\nconfig = "c.toml"\n')
    done = suite("suite.toml", "--dry-run", status=0)
    assert done.stdout.split() == ["polycmp", *words]


def test_a_case_wins_over_its_run_file_and_the_defaults(suite):
    (suite.folder / "c.toml").write_text('model = "two.onnx"\nbackend = ["onnxrt", "onnx"]\nrtol = 0.5\natol = 0.25\n')
    suite.write('[defaults]\nrtol = 0.125\nmodel = "one.onnx"\n[[case]]\nconfig = "c.toml"\natol = 1.0\n')
    done = suite("suite.toml", "--dry-run", status=0)
    assert done.stdout.split() == [
        "polycmp",
        "run",
        "two.onnx",
        "-b",
        "onnxrt",
        "-b",
        "onnx",
        "--rtol",
        "0.5",
        "--atol",
        "1.0",
    ]


def test_a_backend_with_options_is_called_as_it_would_be_typed(suite):
    backends = '["onnxrt:optimization=off,threads=1", "onnx"]'
    suite.write(f'[[case]]\nmodel = "one.onnx"\nbackends = {backends}\nreleases = ["1.22"]\n')
    line = "polycmp run one.onnx -b onnxrt:optimization=off,threads=1,version=1.22 -b onnx"
    assert suite("suite.toml", "--dry-run", status=0).stdout.splitlines() == [line]
