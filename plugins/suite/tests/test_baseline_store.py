"""Where last passes are kept: a place that breaks, that cannot be reached, or that nobody may write to."""

from __future__ import annotations

import pytest
from last_passes import ONE, change, drift, kept

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("onnxruntime")

from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402


class Failing(MemoryFileSystem):
    """A place that breaks where it is told to."""

    protocol = ("failing",)
    store: dict = {}
    pseudo_dirs = [""]
    breaks: str = ""

    def ls(self, path, detail=True, **kwargs):
        if self.breaks == "ls":
            raise ConnectionError("connection refused")
        return super().ls(path, detail, **kwargs)

    def put_file(self, lpath, rpath, **kwargs):
        super().put_file(lpath, rpath, **kwargs)
        if self.breaks == "put":
            self.store[self._strip_protocol(rpath)].write(b"half")
            raise ConnectionError("connection reset")


@pytest.fixture
def failing():
    """A place of baselines that fails when asked to."""
    fsspec.register_implementation("failing", Failing, clobber=True)
    yield Failing
    Failing.breaks = ""
    Failing.store.clear()


def test_what_does_not_pass_is_not_kept(suite):
    suite.write(
        '[[case]]\nname = "differs"\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnxrt:model=two.onnx"]\n'
        'expected-failure = { reason = "on purpose" }\n'
    )
    suite("suite.toml", "--baseline", f"file://{suite.folder}/base", status=0)
    assert not (suite.folder / "base").exists()


def test_read_only_compares_and_keeps_nothing(suite, baseline):
    change(kept(baseline), 1e-6)
    before = kept(baseline).read_bytes()
    suite("suite.toml", "--baseline", f"file://{baseline}", "--baseline-read-only", status=0)
    assert "differs from the last pass" in drift(suite)["drift"]
    assert kept(baseline).read_bytes() == before
    done = suite("suite.toml", "--baseline", f"file://{suite.folder}/none", "--baseline-read-only", status=0)
    assert "1 without one" in done.stdout
    assert not (suite.folder / "none").exists()


def test_a_damaged_baseline_is_an_error_of_its_case_and_stays(suite, baseline):
    kept(baseline).write_bytes(b"PK\x03\x04 half")
    done = suite("suite.toml", "--baseline", f"file://{baseline}", status=3)
    assert "cannot be compared" in " ".join(done.stdout.split())
    assert kept(baseline).read_bytes() == b"PK\x03\x04 half"


def test_a_store_that_breaks_while_it_is_written_keeps_what_was_there(suite, failing):
    suite.write(ONE)
    suite("suite.toml", "--baseline", "failing://me:secret@place/base", status=0)
    (name,) = failing.store
    change_in(failing, name, suite.folder / "then.npz")
    before = failing.store[name].getvalue()
    failing.breaks = "put"
    done = suite("suite.toml", "--baseline", "failing://me:secret@place/base", "--report", "r.json", status=3)
    assert "cannot write the baseline" in " ".join(done.stdout.split())
    assert {key: file.getvalue() for key, file in failing.store.items()} == {name: before}
    texts = [path.read_text(errors="replace") for path in suite.folder.rglob("*") if path.is_file()]
    assert "secret" not in done.stdout + done.stderr + "".join(texts)


def change_in(failing, name, path):
    path.write_bytes(failing.store[name].getvalue())
    change(path, 1e-6)
    failing.store[name].seek(0)
    failing.store[name].truncate()
    failing.store[name].write(path.read_bytes())


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("failing://base", "cannot read the baseline failing://base"),
        ("nosuch://base", "the baseline nosuch://base cannot be opened"),
    ],
)
def test_a_store_that_cannot_be_reached_is_one_line_before_anything_runs(suite, failing, uri, words):
    suite.write(ONE)
    failing.breaks = "ls"
    done = suite("suite.toml", "--baseline", uri, status=3)
    assert words in done.stderr
    assert not (suite.folder / "suite-results").exists()
