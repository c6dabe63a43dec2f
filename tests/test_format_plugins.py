"""Types of files of plugins: found by suffix, in folders too, and what may go wrong with them."""

from __future__ import annotations

import pytest
from fakes import FakeSite
from test_report_plugins import assert_refused, run

LIGHT = """
    from polycmp.spec import FormatSpec, hookimpl

    @hookimpl
    def polycmp_formats():
        yield {spec}
"""

HEAVY = """
    import pickle
    from pathlib import Path
    from polycmp.results.formats import Stored, StoredRun
    from polycmp.results.runs import IterationResult

    def read(path):
        if path.stem == "bad":
            raise KeyError("no such thing")
        kind, rows = pickle.loads(path.read_bytes())
        labels = dict.fromkeys(label for label, _, _ in rows)
        return Stored(kind, [StoredRun(of, [lambda row=row: result(*row) for row in rows if row[0] == of])
                             for of in labels])

    def result(label, arrays, runtime):
        return IterationResult(arrays, runtime, label)

    class Writer:
        def __init__(self, file, kind, path):
            self.file, self.kind, self.rows, self.path = file, kind, [], path

        def add(self, label, arrays, runtime):
            if self.path.stem == "worse":
                raise SystemExit("enough")
            self.rows.append((label, dict(arrays), runtime))

        def finish(self):
            if self.path.stem == "bad":
                raise KeyError("no such thing")
            pickle.dump((self.kind, self.rows), self.file)

        def discard(self):
            pass
"""
GOOD = "FormatSpec('.fake', 'Fake', 'fake_heavy:read', 'fake_heavy:Writer')"


@pytest.fixture
def site(tmp_path):
    return FakeSite(tmp_path / "site")


def install(site, spec, name="fake"):
    site.install(
        f"fake-{name}",
        {name: f"{name}_light"},
        {f"{name}_light.py": LIGHT.format(spec=spec), f"{name}_heavy.py": HEAVY},
    )


def test_a_format_of_a_plugin_works_as_ours_do(site, model, tmp_path):
    install(site, GOOD)
    words = ("run", model, "-b", "onnxrt", "-b", "onnx", "--iterations", "2")
    saved = run(site, tmp_path, *words, "--save-inputs", "in.fake", "--save-outputs", "out.fake")
    assert saved.returncode == 0, saved.stderr
    loaded = run(
        site, tmp_path, "run", model, "-b", "onnx:name=now", "--load-inputs", "in.fake", "--load-outputs", "out.fake"
    )
    assert loaded.returncode == 0, loaded.stderr
    assert "onnxrt" in loaded.stdout
    shown = run(site, tmp_path, "inspect", "data", "out.fake")
    assert "2 runs" in shown.stdout, shown.stderr
    (tmp_path / "all").mkdir()
    (tmp_path / "in.fake").rename(tmp_path / "all" / "0000000000.fake")
    loaded = run(site, tmp_path, "run", model, "-b", "onnx", "--load-inputs", "all", "--save-outputs", "o.json")
    assert loaded.returncode == 0, loaded.stderr
    checked = run(site, tmp_path, "plugins", "check", "fake")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "fake_heavy:Writer" in checked.stdout


@pytest.mark.parametrize(("name", "why"), [("bad", "KeyError"), ("worse", "enough")])
def test_a_format_that_raises_is_named_and_leaves_what_was_there(site, model, tmp_path, name, why):
    install(site, GOOD)
    (tmp_path / f"{name}.fake").write_bytes(b"before")
    done = run(site, tmp_path, "run", model, "-b", "onnx", "--save-outputs", f"{name}.fake")
    assert done.returncode == 3
    assert why in done.stderr
    assert "file format 'fake' of fake-fake" in done.stderr
    assert "Traceback" not in done.stderr
    assert (tmp_path / f"{name}.fake").read_bytes() == b"before"
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.parametrize(
    ("words", "plugin"),
    [
        (("--report", "r.html"), "report"),
        (("--data-loader", "stress"), "checks"),
    ],
)
def test_what_a_plugin_that_is_switched_off_brings_is_not_called_not_installed(site, model, tmp_path, words, plugin):
    done = run(site, tmp_path, "run", model, "-b", "onnx", *words, POLYCMP_PLUGINS="onnx")
    assert done.returncode == 3
    assert f"plugin '{plugin}' of polycmp-{plugin}" in done.stderr
    assert f"unset POLYCMP_PLUGINS, or add {plugin} to it" in done.stderr
    assert "pip install" not in done.stderr


def test_a_reader_that_raises_is_named(site, model, tmp_path):
    install(site, GOOD)
    (tmp_path / "bad.fake").write_bytes(b"")
    done = run(site, tmp_path, "run", model, "-b", "onnx", "--load-inputs", "bad.fake")
    assert done.returncode == 3
    assert "KeyError" in done.stderr
    assert "file format 'fake' of fake-fake" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_suffix_that_two_claim_goes_to_neither(site, model, tmp_path):
    install(site, GOOD)
    install(site, "FormatSpec('.fake', '', 'a:b', 'a:b')", "two")
    done = run(site, tmp_path, "run", model, "-b", "onnx", "--save-outputs", "out.fake")
    assert done.returncode == 3
    assert "contributed by fake-fake and fake-two" in done.stderr
    done = run(site, tmp_path, "run", model, "-b", "onnx", "--save-outputs", "out.json")
    assert done.returncode == 0, done.stderr


def test_a_module_that_a_format_needs_is_named(site, model, tmp_path):
    install(site, GOOD.replace("Writer')", "Writer', needs=('nobody_has_this',))"))
    done = run(site, tmp_path, "run", model, "-b", "onnx", "--save-outputs", "out.fake")
    assert done.returncode == 3
    assert "nobody_has_this" in done.stderr
    assert "out.fake" in done.stderr


def test_json_is_read_and_written_whatever_plugins_do(site, model, tmp_path):
    site.install("fake-fake", {"fake": "fake_light"}, {"fake_light.py": "raise SystemExit(7)"})
    done = run(site, tmp_path, "run", model, "-b", "onnx", "--save-outputs", "out.json")
    assert done.returncode == 0, done.stderr


#: What a plugin gives as a type of files, and why it is refused.
REFUSED = [
    ("FormatSpec('fake', '', 'a:b', 'a:b')", "bad suffix 'fake' of a format"),
    ("FormatSpec('.Fake', '', 'a:b', 'a:b')", "bad suffix '.Fake'"),
    ("FormatSpec('.x', '', 'a.b', 'a:b')", "'a.b' in polycmp_formats is not of the form"),
    ("FormatSpec('.x', '', 'a:b', None)", "None in polycmp_formats is not of the form"),
    (
        "FormatSpec('.x', '', 'a:b', 'a:b')\n        yield FormatSpec('.x', '', 'a:b', 'a:b')",
        "file format 'x' twice",
    ),
]


def test_what_a_format_may_not_be(site):
    assert_refused(site, install, REFUSED)
