"""Backend instances as they are typed and written in files: what is not shown, and not taken."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("key", ["speed", "threads", "dtype"])
def test_errors_hide_passwords_of_a_backend(polycmp, key):
    done = polycmp("run", "m.toy", "-b", f"toy:{key}=http://me:secret@host")
    assert done.status == 2
    assert "***@host" in done.err
    assert "secret" not in done.out + done.err


def test_labels_hide_passwords(run):
    printed, report = run("-b", "toy:at=http://me:secret@host", "-b", "toy")
    assert printed.status == 0
    assert list(report["inference_results"]) == ["toy:at=http://me:***@host", "toy"]


@pytest.mark.parametrize("place", ["ssh=me:secret@board", "python=ssh://me:secret@board/bin/python"])
def test_a_machine_takes_no_password(polycmp, place):
    done = polycmp("run", "m.toy", "-b", f"toy:{place}")
    assert done.status == 2
    assert "a password is in the name of a machine" in done.err
    assert "secret" not in done.out + done.err


def test_a_machine_in_a_run_file_takes_no_password(polycmp, tmp_path):
    (tmp_path / "run.toml").write_text('model = "m.toy"\nbackend = [{backend = "toy", ssh = "me:secret@board"}]\n')
    done = polycmp("run", "--config", "run.toml")
    assert done.status == 2
    assert "a password is in the name of a machine" in done.err
    assert "secret" not in done.out + done.err
