"""The folder of a machine of a cluster: whose it is, and what is kept in it."""

from __future__ import annotations

from pathlib import Path

import pytest


class TestNodeFolder:
    def test_a_folder_that_others_may_write_into_is_refused(self, tmp_path):
        from polycmp.errors import FileError
        from polycmp_suite.node import private_folder

        place = tmp_path / "shared"
        place.mkdir(mode=0o777)
        place.chmod(0o777)
        with pytest.raises(FileError, match="does not belong to this user alone"):
            private_folder(place)
        (tmp_path / "link").symlink_to(tmp_path)
        with pytest.raises(FileError, match="does not belong to this user alone"):
            private_folder(tmp_path / "link")
        (tmp_path / "mine").mkdir(mode=0o755)
        assert private_folder(tmp_path / "mine").stat().st_mode & 0o777 == 0o700

    def test_a_kept_file_that_was_replaced_is_fetched_again(self, tmp_path):
        from polycmp.files import digest_of
        from polycmp_suite.node import Shipped, place_file

        content, cache, fetched = b"print('mine')", tmp_path / "cache", []
        (tmp_path / "code.py").write_bytes(content)
        item = Shipped("code.py", digest_of(tmp_path / "code.py"))
        cache.mkdir()
        (cache / item.digest).write_bytes(b"print('a stranger')")
        for number in range(2):
            place_file(item, tmp_path / f"case{number}", cache, lambda digest: fetched.append(digest) or content)
            assert (tmp_path / f"case{number}" / "code.py").read_bytes() == content
        assert fetched == [item.digest]

    def test_results_of_a_machine_stay_in_the_folder_of_their_case(self, tmp_path):
        from polycmp_suite.node import write_inside

        folder = tmp_path / "case"
        strange = ["../outside", f"{tmp_path}/outside", "a/../../outside"]
        assert write_inside(folder, dict.fromkeys([*strange, "a/result.json"], b"{}")) == strange
        assert [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()] == [
            Path("case/a/result.json")
        ]
