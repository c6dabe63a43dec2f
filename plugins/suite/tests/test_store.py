"""Runs on disk: which are kept, in which order they came, and what of another run leads nowhere."""

from __future__ import annotations

import json
import time

from suite_texts import CASE, GOOD, HEAD, case


def test_old_runs_are_removed_and_nothing_else(suite):
    suite.write(HEAD + GOOD)
    for _ in range(2):
        suite("suite.toml", status=0)
    folder = suite.folder / "suite-results"
    (folder / "1-notes").mkdir()
    newest = suite.latest.resolve()
    suite("suite.toml", "--keep", 2, status=0)
    runs = {path.name for path in folder.iterdir()} - {"latest", "1-notes"}
    assert runs == {newest.name, suite.latest.resolve().name}
    assert (folder / "1-notes").is_dir()
    assert "--keep" in suite("suite.toml", "--keep", 0, status=2).stderr


class TestClocks:
    def test_a_run_of_the_future_is_older_than_the_run_at_hand(self, suite):
        suite.write(HEAD + CASE)
        suite("suite.toml", status=0)
        folder = suite.folder / "suite-results"
        only = suite.latest.resolve()
        future = folder / "2099-01-01T00-00-00Z"
        only.rename(future)
        (folder / "latest").unlink()
        suite("suite.toml", "--keep", 1, status=0)
        kept = [item for item in folder.iterdir() if item.name != "latest"]
        assert [item.name for item in kept] == [suite.latest.resolve().name]
        assert "2099" not in kept[0].name
        assert (kept[0] / "index.html").is_file()

    def test_resume_goes_on_with_the_latest_run_and_not_with_the_future(self, suite):
        suite.write(HEAD + CASE)
        suite("suite.toml", status=0)
        folder = suite.folder / "suite-results"
        suite.latest.resolve().rename(folder / "2099-01-01T00-00-00Z")
        suite("suite.toml", status=0)
        latest = suite.latest.resolve()
        before = (latest / "suite.json").stat().st_mtime_ns
        suite("suite.toml", "--resume", status=0)
        assert (latest / "suite.json").stat().st_mtime_ns > before
        assert suite.latest.resolve() == latest

    def test_twelve_runs_in_one_second_stay_in_order(self, tmp_path):
        from polycmp_suite.store import new_run, runs_in

        made = [new_run(tmp_path).folder for _ in range(12)]
        assert [run.folder for run in runs_in(tmp_path)] == made

    def test_a_run_that_may_still_be_going_on_is_kept(self, tmp_path):
        from polycmp_suite.store import new_run, remove_old_runs, runs_in

        going, old = new_run(tmp_path), new_run(tmp_path)
        old.write_about({"time": time.time() - 2 * 24 * 3600, "finished": False})
        remove_old_runs(new_run(tmp_path), 1)
        assert going.folder in [run.folder for run in runs_in(tmp_path)]
        assert not old.folder.exists()


def test_a_kept_result_never_leads_outside(suite):
    suite.write(HEAD + CASE)
    suite("suite.toml", status=0)
    (place,) = suite.latest.glob("cases/*/result.json")
    document = json.loads(place.read_text())
    place.write_text(json.dumps({**document, "folder": "../../../outside"}))
    suite("suite.toml", "--resume", status=0)
    assert not list(suite.folder.rglob("outside"))
    assert (place.parent / "index.html").is_file()


def test_a_kept_case_folder_that_is_a_link_is_made_anew(suite):
    suite.write(HEAD + CASE)
    suite("suite.toml", status=0)
    (place,) = suite.latest.glob("cases/*")
    outside = suite.folder / "outside"
    place.rename(outside)
    place.symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()}
    suite("suite.toml", "--resume", status=0)
    assert {path.name: path.read_bytes() for path in outside.iterdir() if path.is_file()} == before
    assert (place / "result.json").is_file()
    assert not place.is_symlink()


def test_a_half_written_result_does_not_count(suite):
    suite.write(HEAD + case("one"))
    suite("suite.toml", status=0)
    path = next(suite.latest.glob("cases/*/result.json"))
    path.write_text(path.read_text()[:40])
    assert "[1/1] ok" in suite("suite.toml", "--resume", status=0).stderr
