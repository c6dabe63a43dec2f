"""Cases that are chosen by name, by tag, or by what changed."""

from __future__ import annotations

import shutil

from suite_texts import HEAD, case


def test_choosing_cases(suite):
    suite.write("""
[defaults]
backend = ["onnxrt", "onnx"]
[[case]]
model = "one.onnx"
tags = ["quick"]
matrix = { atol = [1, 2] }
[[case]]
model = "two.onnx"
tags = ["slow"]
matrix = { atol = [1, 2] }
""")

    def names(*words):
        return suite("suite.toml", "--list", *words, status=0).stdout.split()[::2]

    assert names("-k", "one") == ["one[atol=1]", "one[atol=2]"]
    assert names("-k", "atol=1 and not two") == ["one[atol=1]"]
    assert names("-k", "(ONE or two) and not atol=1") == ["one[atol=2]", "two[atol=2]"]
    assert names("-kslow") == ["two[atol=1]", "two[atol=2]"]
    assert names("--tag", "quick") == ["one[atol=1]", "one[atol=2]"]
    assert "is not an expression" in suite("suite.toml", "-k", "one and", status=2).stderr
    assert "no case matches" in suite("suite.toml", "-k", "three", status=2).stderr
    assert "no case has the tag 'quik'" in suite("suite.toml", "--tag", "quik", status=2).stderr


def test_only_cases_whose_files_changed(suite):
    suite.write(HEAD + '[[case]]\nname = "a"\nmodel = "one.onnx"\n[[case]]\nname = "b"\nmodel = "two.onnx"\n')
    since = ("suite.toml", "--changed-since", "HEAD", "--list")
    assert "git does not say" in suite(*since, status=2).stderr
    suite.git("init", "-q")
    suite.git("add", ".")
    suite.git("commit", "-qm", "all")
    assert "no file of a case has changed since HEAD" in suite(*since, status=0).stderr
    shutil.copy(suite.folder / "one.onnx", suite.folder / "two.onnx")
    assert suite(*since, status=0).stdout.split() == ["b"]
    suite.git("commit", "-qam", "two")
    assert suite("suite.toml", "--changed-since", "HEAD~1", "--list", status=0).stdout.split() == ["b"]
    suite.path.write_text(suite.path.read_text() + "\n")
    assert suite(*since, status=0).stdout.split() == ["a", "b"]
    assert "git does not say" in suite("suite.toml", "--changed-since", "nothing", "--list", status=2).stderr


def test_needs_that_are_not_there_are_skipped_with_a_reason(suite):
    suite.write(HEAD + case("gpu", 'needs = ["trt86"]') + case("numpy", 'needs = ["numpy"]'))
    suite("suite.toml", status=0)
    results = suite.results()
    assert (results["gpu"]["state"], results["numpy"]["state"]) == ("skipped", "passed")
    assert "needs trt86" in results["gpu"]["reason"]
    suite("suite.toml", "--provide", "trt86", status=0)
    assert suite.results()["gpu"]["state"] == "passed"
