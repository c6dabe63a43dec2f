"""`polycmp.compare` and `polycmp.assert_close`: what a program hands over, and the words in which they refuse it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import ml_dtypes
import numpy as np
import pytest
from copied_processes import run_as_process

import polycmp
from polycmp.cli.main import run as command
from polycmp.errors import DataError, PolycmpError, UsageError


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (np.arange(4.0), ["output"]),
        ([1.0, 2.0, 4.0], ["output"]),
        ({"x": [1.0, 2.0, 3.0]}, ["x"]),
        ({"x": (np.arange(3.0), np.arange(4.0)), "none": None}, ["x.0", "x.1"]),
        ({"cache": {"key": np.arange(3.0)}}, ["cache.key"]),
        ((np.arange(3.0), np.arange(4.0)), ["output.0", "output.1"]),
        (np.arange(4).astype(ml_dtypes.bfloat16), ["output"]),
        (np.array(["a", "b"]), ["output"]),
    ],
)
def test_what_may_be_compared(made, names):
    r = polycmp.compare(made, made)
    assert list(r) == names
    assert r.passed


def test_lists_of_mappings_from_keys_to_numbers_are_compared_by_key():
    scores = [{"cat": np.float32(0.25), "dog": np.float32(0.75)}, {"cat": np.float32(0.5), "dog": np.float32(0.5)}]
    r = polycmp.compare({"scores": [{**scores[0], "dog": np.float32(0.7)}, scores[1]]}, {"scores": scores})
    assert [(item.name, item.type) for item in r.values()] == [
        ("scores.cat", "float32[2]"),
        ("scores.dog", "float32[2]"),
    ]
    assert (r["scores.cat"].passed, r["scores.dog"].passed) == (True, False)


def test_a_tolerance_that_nothing_could_exceed_is_blind():
    made = np.float32([1, 2, 3])
    assert polycmp.compare(made, made + np.float32(1e-7), atol=100).verdict == "blind"


PLAIN = np.array([1.0, 2.0, 3.0])


def hidden(*places, values=PLAIN):
    return np.ma.array(values, mask=[place in places for place in range(len(values))])


@pytest.mark.parametrize(
    ("made", "wanted", "verdict"),
    [
        (hidden(1), hidden(1), "passed"),
        (hidden(1), hidden(1, values=[1.0, 9.0, 3.0]), "passed"),  # what both hide
        (hidden(), PLAIN, "passed"),
        (hidden(1), PLAIN, "failed"),
        (PLAIN, hidden(1), "failed"),
        (hidden(1), hidden(2), "failed"),
        (hidden(1), hidden(1, values=[1.0, 2.0, 4.0]), "failed"),
    ],
)
def test_masked_arrays_are_compared_with_their_masks(made, wanted, verdict):
    assert polycmp.compare(made, wanted).verdict == verdict
    assert polycmp.compare({"y": made}, {"y": wanted}).verdict == verdict


def test_masked_arrays_elsewhere_are_refused(tmp_path):
    with pytest.raises(DataError, match="mask would be lost") as refused:
        polycmp.run("model.onnx", "onnx", inputs={"x": hidden(1)})
    assert "filled" in refused.value.hint


def test_tables_are_compared_by_column():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4], "c": ["x", "y"]})
    r = polycmp.compare(table.assign(a=[1.0, 2.5]), table)
    assert [(item.name, item.passed) for item in r.values()] == [("a", False), ("b", True), ("c", True)]
    assert list(polycmp.compare({"out": table}, {"out": table})) == ["out.a", "out.b", "out.c"]
    twice = pandas.DataFrame([[1.0, 2.0]], columns=["a", "a"])
    with pytest.raises(DataError, match="one name"):
        polycmp.compare(twice, twice)


@pytest.mark.parametrize("made", [lambda: iter([PLAIN, PLAIN]), lambda: (3.0 for _ in range(2))])
def test_generators_of_arrays_are_refused_in_words(made):
    with pytest.raises(DataError, match="a generator yields") as refused:
        polycmp.compare(made(), PLAIN)
    assert "yield" in refused.value.hint
    assert polycmp.compare(({"y": item} for item in (PLAIN, PLAIN)), [{"y": PLAIN}] * 2).passed


def test_conjugates_that_torch_puts_off_are_read():
    torch = pytest.importorskip("torch")
    numbers = torch.tensor([1 + 2j, 3 - 4j])
    assert polycmp.compare(numbers.conj(), np.array([1 - 2j, 3 + 4j], np.complex64)).passed


def test_tensors_of_frameworks_are_arrays():
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(4, 3)
    made = module(torch.ones(2, 4))  # one that wants a gradient
    assert polycmp.compare(made, made.detach().numpy()).passed
    assert polycmp.compare({"x": made.bfloat16()}, {"x": made.bfloat16()}).passed
    assert not polycmp.compare(made + 1, made).passed


def test_arrays_of_jax_are_arrays():
    jax = pytest.importorskip("jax.numpy")
    assert polycmp.compare(jax.arange(4.0), np.arange(4.0, dtype=np.float32)).passed
    assert not polycmp.compare(jax.arange(4.0) + 1, np.arange(4.0, dtype=np.float32)).passed


def test_a_list_of_mappings_is_a_list_of_iterations(new, old):
    r = polycmp.compare([old, new, old], [old, old, old], atol=1e-4)
    assert (r["logits"].iterations, r["logits"].worst_iteration) == (3, 1)
    assert not polycmp.compare([old, old], [old]).passed
    assert "2 iterations, old 1" in str(polycmp.compare([old, old], [old]))
    assert polycmp.compare(iter([old]), (item for item in [old])).passed


def test_files_beside_arrays(tmp_path, new, old):
    np.savez(tmp_path / "old.npz", **old)
    assert polycmp.compare(old, tmp_path / "old.npz").passed
    assert not polycmp.compare(str(tmp_path / "old.npz"), new, atol=1e-4).passed


@pytest.mark.parametrize(
    ("made", "expected", "verdict"),
    [
        (np.full(5, 9e-8), np.full(5, 8e-8), "blind"),
        (np.array([]), np.array([]), "blind"),
        (np.arange(5.0), np.arange(5.0), "passed"),
        (np.arange(5.0), np.arange(5.0) + 1, "failed"),
        (np.arange(5.0), np.arange(6.0), "failed"),
        ({"x": np.arange(5.0)}, {"y": np.arange(5.0)}, "error"),
        (np.array([np.nan, 1.0]), np.array([np.nan, 1.0]), "failed"),
    ],
)
def test_the_verdict_is_that_of_the_command_line(made, expected, verdict, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    r = polycmp.compare(made, expected)
    assert (r.verdict, r.passed) == (verdict, verdict == "passed")
    for name, side in (("new", made), ("old", expected)):
        np.savez(f"{name}.npz", **(side if isinstance(side, dict) else {"output": side}))
    command(["compare", "new.npz", "old.npz", "--report", "r.json"])
    r.save("mine.json")
    theirs, mine = (json.loads(Path(name).read_text())["comparison_results"] for name in ("r.json", "mine.json"))
    for item in (theirs[0], mine[0]):
        for output in item["outputs"].values():
            output.pop("error_distribution", None)
            output.pop("metrics", None)
    assert theirs == mine
    assert r.sentence.partition(" (")[0] in capsys.readouterr().out


def test_options_are_those_of_the_command_line(new, old):
    assert polycmp.compare(new, old, atol={"logits": 1e-2}).passed
    assert polycmp.compare(new, old, compare_func="cosine_similarity").passed
    assert (
        "cosine_similarity.cosine_similarity"
        in polycmp.compare(new, old, compare_func="cosine_similarity")["logits"].metrics
    )
    assert polycmp.compare({"a": old["logits"]}, {"b": old["logits"]}, map_output={"a": "b"}).passed
    nan = np.array([np.nan, 1.0])
    assert polycmp.compare(nan, nan, options=["--nan", "equal"]).passed
    assert polycmp.compare(np.full(5, 9e-8), np.full(5, 8e-8), allow_blind=True).passed
    assert "mine against theirs" in str(polycmp.compare(new, old, names=("mine", "theirs")))
    with pytest.raises(UsageError, match="there is no option --no-such-option"):
        polycmp.compare(new, old, options=["--no-such-option"])
    with pytest.raises(UsageError, match="both sides are called"):
        polycmp.compare(new, old, names=("x", "x"))


def test_what_cannot_be_compared_is_refused(new, old):
    with pytest.raises(DataError, match="'x' holds no numbers"):
        polycmp.compare({"x": object()}, old)
    with pytest.raises(DataError, match="no array to compare"):
        polycmp.compare({}, old)
    with pytest.raises(KeyError, match="did you mean 'logits'"):
        polycmp.compare(new, old)["logit"]


def test_a_failed_assertion_says_what_the_command_line_would(new, old):
    polycmp.assert_close(new, old, atol=1e-2)
    with pytest.raises(AssertionError) as caught:
        polycmp.assert_close(new, old, atol=1e-4)
    text = str(caught.value)
    assert text.startswith("FAILED: 1 of 2 outputs differs\n")
    assert "40 of 40 elements differ by more than both tolerances" in text
    with pytest.raises(AssertionError, match="BLIND"):
        polycmp.assert_close(np.full(5, 9e-8), np.full(5, 8e-8))


def test_pytest_shows_the_words_and_not_our_own_lines(tmp_path):
    (tmp_path / "test_mine.py").write_text(
        dedent(
            """
            import numpy as np, polycmp

            def test_same():
                polycmp.assert_close(np.arange(3.0) + 1, np.arange(3.0))
            """
        )
    )
    words = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_mine.py"]
    told = run_as_process(lambda: pytest.main(words), tmp_path, os.environ).stdout.decode()
    assert "FAILED: 1 of 1 output differs" in told
    assert "3 of 3 elements differ" in told
    assert "test_mine.py:5: AssertionError" in told


def test_nothing_is_left_behind(new, old, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    r = polycmp.compare(new, old)
    assert str(r)
    assert list(tmp_path.iterdir()) == []


def test_a_package_of_the_same_name_stays_a_package():
    code = (
        "import polycmp, sys; import polycmp.compare;"
        "from polycmp.compare import ErrorStats;"
        "import polycmp.compare as c; assert c is sys.modules['polycmp.compare'];"
        "print(polycmp.compare([1.0], [1.0]).passed, c([2.0], [1.0]).passed)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "True False\n", done.stderr


# --- errors in the words of Python


@pytest.mark.parametrize("value", ["x", -1, math.nan, [1], {"y": "x"}, {"y": -0.5}])
@pytest.mark.parametrize("name", ["atol", "rtol"])
def test_a_tolerance_that_is_none_is_shown_as_it_was_given(name, value):
    with pytest.raises(ValueError, match="no tolerance") as failed:
        polycmp.compare({"y": np.ones(3)}, {"y": np.ones(3)}, **{name: value})
    given = f"{name}={value!r}"
    assert isinstance(failed.value, PolycmpError)
    assert str(failed.value).startswith(f"{given} is no tolerance\n")
    assert f"next: {name}=1e-5" in str(failed.value)


def test_errors_name_arguments_and_not_options():
    new, old = {"y": np.ones(3)}, {"y": np.ones(3) + 1e-9}
    for wrong in ({"atol": {"z": 1}}, {"rtol": {"z": 1}}, {"allow_blind": "z"}):
        with pytest.raises(PolycmpError) as failed:
            polycmp.compare(new, old, **wrong)
        assert next(iter(wrong)) in str(failed.value)
        assert "--" not in str(failed.value)
    with pytest.raises(PolycmpError) as failed:
        polycmp.run("m.toy")
    assert "no backend given" in str(failed.value)
    assert 'polycmp.run("model.onnx"' in failed.value.hint
    with pytest.raises(PolycmpError) as failed:
        polycmp.compare("no/such/file.npz", old)
    assert "ls " not in str(failed.value)


def test_nan_on_both_sides_fails_as_the_documentation_says():
    array = np.array([1.0, math.nan])
    with pytest.raises(AssertionError, match="NaN"):
        polycmp.assert_close(array, array)
    polycmp.assert_close(array, array, options=["--nan", "equal"])
    for function in (type(polycmp.compare).__call__, polycmp.assert_close):
        assert "NaN in the same place on both sides" in function.__doc__
