"""The suite file: what it stands for, and what is said of mistakes."""

from __future__ import annotations

import pytest

from polycmp_suite.suitefile.lines import find_lines


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


def test_dry_run_shows_command_lines_that_work(suite):
    suite.write('[[case]]\nmodel = "one.onnx"\nbackends = ["onnxrt:optimization=off", "onnx"]\nshapes = ["x:[1,4]"]\n')
    done = suite("suite.toml", "--dry-run", status=0)
    line = "polycmp run one.onnx -b onnxrt:optimization=off -b onnx --input-shapes 'x:[1,4]'"
    assert done.stdout.splitlines() == [line]


def test_every_mistake_is_named_with_its_line(suite):
    suite.write("""nmae = "x"
[defaults]
backends = ["onnxrt", "onnx"]

[[case]]
model = "one.onnx"
atoll = 1

[[case]]
model = "nothing-*.onnx"

[[case]]
model = [
  "two.onnx",
]
timeout = -3
atol = "much"

[[case]]
model = "one.onnx"
name = "other"
backends = ["onnxrt:optimisation=off"]

[[case]]
model = "two.onnx"
name = "other2"
expected-failure = { until = 2027-01-01 }
""")
    done = suite("suite.toml", status=2)
    for words in (
        "suite.toml has 6 mistakes; nothing was started",
        "line 1: there is no key 'nmae'",
        "line 7: there is no option 'atoll' (did you mean 'atol'",
        "line 10: no file matches model = 'nothing-*.onnx'",
        "line 16: timeout: a number of seconds above 0",
        "line 22: -b onnxrt:optimisation=off",
        "line 27: expected-failure: a reason is missing",
    ):
        assert words in done.stderr, (words, done.stderr)
    assert not (suite.folder / "suite-results").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[case]\n", "not valid TOML"),
        ("", "there is no [[case]]"),
        ('[[case]]\nmodel = "one.onnx"\n', "no backend given"),
        ('[[case]]\nbackend = "onnx"\n', "no model given"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "nobody"\n', "line 3: there is no backend 'nobody'"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\ncommand = "lcoate"\n', "did you mean 'locate'"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nreport = ["x.json"]\n', "'report' is not allowed in a case"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nbackends = "onnx"\n', "repeats another key"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\n' * 2, "the case 'one' is already in line 1"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nmatrix = { atol = 3 }\n', "is a list of values"),
        ('[[case]]\nmodel = "one.onnx"\nbackend = "onnx"\nmatrix = { retries = [-1] }\n', "line 4: retries: a whole"),
        ("case = 3\n", "cases are written as [[case]]"),
        ('defaults = 3\n[[case]]\nmodel = "one.onnx"\n', "defaults are a table"),
    ],
)
def test_a_wrong_file_is_wrong_usage(suite, text, words):
    suite.write(text)
    done = suite("suite.toml", status=2)
    assert words in done.stderr.replace("\n        ", " "), done.stderr


def test_a_missing_file_is_said(suite):
    done = suite("nothing.toml", status=3)
    assert "no such suite file or folder: nothing.toml" in done.stderr


def test_a_run_file_is_a_case(suite):
    """What `polycmp run --write-config` writes is what a case reads."""
    import subprocess
    import sys

    words = [
        "run",
        "one.onnx",
        "-b",
        "onnxrt:optimization=off",
        "-b",
        "onnx",
        "--rtol",
        "0.05",
        "--write-config",
        "c.toml",
    ]
    subprocess.run([sys.executable, "-m", "polycmp", *words], cwd=suite.folder, check=True, capture_output=True)
    suite.write('[[case]]\nconfig = "c.toml"\n')
    done = suite("suite.toml", "--dry-run", status=0)
    assert done.stdout.split() == [
        "polycmp",
        "run",
        "one.onnx",
        "-b",
        "onnxrt:optimization=off",
        "-b",
        "onnx",
        "--rtol",
        "0.05",
    ]


def test_a_case_wins_over_its_run_file_and_the_defaults(suite):
    (suite.folder / "c.toml").write_text('model = "two.onnx"\nbackend = ["onnxrt", "onnx"]\nrtol = 0.5\natol = 0.25\n')
    suite.write('[defaults]\nrtol = 0.125\nmodel = "one.onnx"\n[[case]]\nconfig = "c.toml"\natol = 1.0\n')
    done = suite("suite.toml", "--dry-run", status=0)
    assert done.stdout.split() == [
        "polycmp",
        "run",
        "two.onnx",
        "-b",
        "onnxrt",
        "-b",
        "onnx",
        "--rtol",
        "0.5",
        "--atol",
        "1.0",
    ]


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


def test_lines_of_keys_whatever_stands_between_them():
    text = '''# [[case]] in a comment
name = "a # [[case]] b"
[defaults]
text = """
[[case]]
key = 1 \\"""
"""
[[case]]
list = [
  "[[case]]",  # key = 3
]
"quoted" = 'x'
[case.matrix]
atol = [1,
  2]
other = 1
[[case]]
last = {a = 1}  # one of several,
"'odd'.key" = 1
[case."x.y"]
z = 1
'''
    lines = find_lines(text)
    assert lines.top.keys == {"name": 2}
    assert lines.top.tables["defaults"].keys == {"text": 4}
    first, second = lines.arrays["case"]
    assert (first.line, first.keys, second.line) == (8, {"list": 9, "quoted": 12}, 17)
    assert second.keys == {"last": 18, "'odd'.key": 19}
    assert second.of("x.y", "z") == 21
    assert first.of("matrix", "other") == 16
    assert first.of("nowhere") == 8
