"""A case for each file of a pattern, each choice of a matrix and each release."""

from __future__ import annotations

import pytest
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


def test_each_release_makes_a_case_whose_first_backend_has_it(suite):
    suite.write("""
[defaults]
backends = ["onnxrt", "onnx"]

[[case]]
model = "one.onnx"
releases = ["1.20.1", "latest"]

[[case]]
name = "fast"
model = "two.onnx"
backends = [{ backend = "onnxrt", name = "quick", options = { threads = 1 } }, "onnx"]
releases = "1.22"
matrix = { atol = [1e-3] }
""")
    done = suite("suite.toml", "--list", status=0)
    assert done.stdout.splitlines() == [
        "one[release=1.20.1]", "one[release=latest]", "fast[atol=0.001,release=1.22]",
    ]  # fmt: skip
    done = suite("suite.toml", "--dry-run", status=0)
    assert done.stdout.splitlines() == [
        "polycmp run one.onnx -b onnxrt:version=1.20.1 -b onnx",
        "polycmp run one.onnx -b onnxrt:version=latest -b onnx",
        "polycmp run two.onnx -b 'onnxrt:threads=1,version=1.22,name=quick 1.22' -b onnx --atol 0.001",
    ]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ('backends = ["onnxrt:version=1.20.1", "onnx"]\nreleases = ["1.22"]', "has an environment of its own"),
        ('backends = ["onnxrt", "onnx"]\nreleases = [1.22]', "line 5: releases: a list of texts is wanted"),
        ('backends = ["onnxrt", "onnx"]\nmatrix = { releases = ["1.22"] }', "a matrix has no axis 'releases'"),
    ],
)
def test_releases_that_cannot_be_meant_are_mistakes(suite, lines, said):
    suite.write(f'\n[[case]]\nmodel = "one.onnx"\n{lines}\n')
    done = suite("suite.toml", "--list", status=2)
    assert said in done.stderr
