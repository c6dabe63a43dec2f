"""What identifies a model in reports."""

from __future__ import annotations

import hashlib

from polycmp.plugins import Registry
from polycmp_report.identity import identify


def test_a_model_is_known_by_its_digest_and_size_whatever_loader_it_has(tmp_path):
    (tmp_path / "m.toy").write_bytes(b"a model")
    (tmp_path / "large.unheard-of").write_bytes(b"\0" * (3 << 20))
    found = identify(["m.toy", "large.unheard-of", "missing.toy", "", "m.toy"], Registry.discover(), tmp_path)
    digest = hashlib.sha256((tmp_path / "m.toy").read_bytes()).hexdigest()
    size = (tmp_path / "m.toy").stat().st_size
    assert list(found) == ["m.toy", "large.unheard-of"]
    assert found["m.toy"].to_json() == {"sha256": digest, "size": size}
    assert found["m.toy"].words == f"sha256 {digest[:12]}, {size} B"
    assert found["large.unheard-of"].words.endswith(", 3 MiB")
