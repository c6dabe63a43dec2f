"""Releases that a case asks for: a case for each, and those that cannot be meant."""

from __future__ import annotations

import pytest


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


def test_a_backend_with_options_is_called_as_it_would_be_typed(suite):
    backends = '["onnxrt:optimization=off,threads=1", "onnx"]'
    suite.write(f'[[case]]\nmodel = "one.onnx"\nbackends = {backends}\nreleases = ["1.22"]\n')
    line = "polycmp run one.onnx -b onnxrt:optimization=off,threads=1,version=1.22 -b onnx"
    assert suite("suite.toml", "--dry-run", status=0).stdout.splitlines() == [line]


def test_a_suite_that_may_name_no_code_installs_no_packages_of_its_choice(suite):
    suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\nreleases = ["1.20.1"]\n')
    suite("suite.toml", "--no-scripts", "--list", status=0)
    suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt", "onnx"]\nreleases = ["1.20.1,any==1"]\n')
    done = suite("suite.toml", "--no-scripts", "--list", status=2)
    assert "version names code to run: 1.20.1,any==1" in done.stderr
