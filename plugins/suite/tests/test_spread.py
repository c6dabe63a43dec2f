"""A case for each file of a pattern and each choice of a matrix."""

from __future__ import annotations

from suite_texts import HEAD


def test_globs_and_matrices_make_cases(suite):
    suite.write("""
name = "nightly"

[defaults]
backends = ["onnxrt", "onnx"]

[[case]]
model = "*.onnx"
tags = ["smoke"]
matrix = { atol = [1e-3, 1e-4] }

[[case]]
name = "fast"
model = "one.onnx"
[case.matrix.backend]
off = ["onnxrt:optimization=off", "onnx"]
on = ["onnxrt:optimization=all", "onnx"]
""")
    done = suite("suite.toml", "--list", status=0)
    assert done.stdout.splitlines() == [
        "one[atol=0.001]  (smoke)",
        "two[atol=0.001]  (smoke)",
        "one[atol=0.0001]  (smoke)",
        "two[atol=0.0001]  (smoke)",
        "fast[off]",
        "fast[on]",
    ]
    assert not (suite.folder / "suite-results").exists()


def test_names_of_cases_can_be_read_however_long_the_backends_are(suite):
    folder = "a-folder-" * 12
    (suite.folder / folder).mkdir()
    (suite.folder / folder / "one.onnx").write_bytes((suite.folder / "one.onnx").read_bytes())
    backends = f'["onnxrt:model={folder}/one.onnx", "onnxrt"]'
    suite.write(HEAD + f'[[case]]\nmodel = "one.onnx"\nname = "the name of the case"\nbackends = {backends}\n')
    assert "the name of the case" in suite("suite.toml").stdout
