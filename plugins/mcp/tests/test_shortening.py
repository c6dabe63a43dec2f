"""Reports cut to what fits into a conversation: what failed is never what is left out."""

from __future__ import annotations

from polycmp_mcp.shortening import CHARACTERS, ITEMS, short


def test_of_a_long_list_what_failed_comes_first_and_the_rest_is_counted():
    rows = [{"tensor": f"t{index}", "passed": index < 500} for index in range(502)]
    found = short({"tensors": rows})["tensors"]
    assert [row["tensor"] for row in found[:2]] == ["t500", "t501"]
    assert found[-1] == f"{502 - ITEMS} more left out"
    assert len(found) == ITEMS + 1


def test_of_many_outputs_what_failed_comes_first_and_the_rest_is_counted():
    outputs = {f"y{index}": {"passed": index != 77} for index in range(100)}
    found = short({"outputs": outputs})["outputs"]
    assert next(iter(found)) == "y77"
    assert found["left_out"] == 100 - ITEMS


def test_what_is_short_stays_as_it_is():
    document = {
        "verdict": "failed",
        "seconds": 0.5,
        "first_bad": "h",
        "shape": [1, 2, 3],
        "tensors": [{"passed": True}],
    }
    assert short(document) == document


def test_nothing_and_drawings_are_left_out_and_figures_have_six_digits():
    document = {"hint": None, "notes": [], "error_distribution": {"p90": 1.0}, "max_error": 0.123456789, "nan": "nan"}
    assert short(document) == {"max_error": 0.123457, "nan": "nan"}


def test_a_long_text_keeps_its_beginning_and_its_end():
    text = "a" * 5000 + "z"
    assert len(short(text)) < CHARACTERS + 50
    assert short(text)[0] == "a"
    assert short(text)[-1] == "z"
