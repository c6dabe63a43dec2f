"""What a reduction by backends leaves behind: a script that shows the fault."""

from __future__ import annotations

import faulty_models


def faulty(at, fault="int32"):
    return f"faulty:backend=onnxrt,fault={fault},at={at}"


class TestCase:
    def test_the_script_shows_the_fault(self, polycmp, shell, tmp_path):
        faulty_models.chain(tmp_path / "chain.onnx", 6)
        done = polycmp("debug", "reduce", "chain.onnx", "-b", faulty("c5"), "-b", "onnxrt", "--save-repro", "case")
        assert "did not show the fault" not in done.out
        again = shell("sh case/run.sh", tmp_path)
        assert again.status == 1, again.err
        assert "FAILED: 1 of 1 output differs" in again.out
