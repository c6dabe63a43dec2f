"""The processes of a program agree on what is kept, and watching an import leaves the module as it is."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from polycmp_record.startup.polycmp_record_hook.imports import after_import
from polycmp_record.startup.polycmp_record_hook.spool import Model, RecordingSettings, Spool


def saved(folder):
    return sorted(file.name for file in folder.glob("*/*.npy"))


def spool(folder, **settings):
    given = {"every": 1, "max_calls": 100, "max_size": 10**6, "duplicates": False, **settings}
    (settings,) = RecordingSettings.from_text(RecordingSettings(str(folder), **given).to_text())
    return Spool(settings)


def keep(place, model, value):
    if place.due(model):
        place.keep(model, {"x": np.full(25, value)}, {"y": np.array(value)})


@pytest.mark.parametrize(
    ("settings", "kept"),
    [({}, 4), ({"max_calls": 3}, 3), ({"max_size": 2 * 208}, 2), ({"duplicates": True}, 6)],
)
def test_processes_that_share_a_folder_keep_what_one_would_keep(tmp_path, settings, kept):
    first, second = spool(tmp_path, **settings), spool(tmp_path, **settings)
    model, same = (Model("onnxrt", "onnxruntime 1", {}) for _ in range(2))
    for value in (1, 2, 3):
        keep(first, model, value)
        keep(second, same, value if value < 3 else 4)
    assert saved(tmp_path) == [f"{number:010d}.npy" for number in range(kept)]


def test_what_is_no_array_is_refused_with_its_name(tmp_path):
    with pytest.raises(TypeError, match="'y' is no array of numbers or text but list"):
        spool(tmp_path).keep(Model("onnxrt", "onnxruntime 1", {}), {"x": np.ones(2)}, {"y": [{"a": 1}]})
    assert saved(tmp_path) == []


def test_a_folder_of_the_name_of_a_library_is_imported_as_ever(tmp_path, monkeypatch):
    (tmp_path / "folder_for_a_test").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    seen = []
    after_import("folder_for_a_test", seen.append)
    import folder_for_a_test

    assert [*folder_for_a_test.__path__] == [str(tmp_path / "folder_for_a_test")]
    assert seen == []
    monkeypatch.delitem(sys.modules, "folder_for_a_test")


def test_a_module_that_fails_at_first_is_watched_when_it_is_imported_again(tmp_path, monkeypatch):
    module = tmp_path / "watched_for_a_test.py"
    module.write_text("raise ImportError('not yet')\n")
    monkeypatch.syspath_prepend(tmp_path)
    before, seen = list(sys.meta_path), []
    monkeypatch.setattr(sys, "meta_path", [*before])
    after_import("watched_for_a_test", seen.append)
    with pytest.raises(ImportError, match="not yet"):
        import watched_for_a_test
    module.write_text("value = 5  # longer than before\n")
    import watched_for_a_test

    assert [item.value for item in seen] == [5]
    assert seen == [watched_for_a_test]
    assert sys.meta_path == before
    assert "exec_module" not in vars(watched_for_a_test.__loader__)
    monkeypatch.delitem(sys.modules, "watched_for_a_test")
