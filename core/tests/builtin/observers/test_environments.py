"""What saved outputs were made with is named where they differ."""

from __future__ import annotations

import pytest
from saved_data import ANY_FORMAT, LAPTOP, SERVER, save_with_environment


@pytest.mark.parametrize("name", ANY_FORMAT)
def test_compare_names_the_other_kind_of_processor_where_outputs_differ(polycmp, name):
    save_with_environment("same.npz", 0, LAPTOP)
    save_with_environment(name, 0, SERVER)
    assert "processor" not in polycmp("compare", "same.npz", name).words
    save_with_environment("other.npz", 1, LAPTOP)
    done = polycmp("compare", "other.npz", name)
    assert done.status == 1
    assert "made on another kind of processor: run without amx_int8, avx512_vnni" in done.words


def test_a_damaged_environment_is_an_error_in_words(polycmp, tmp_path):
    save_with_environment("good.json", 0, LAPTOP)
    text = (tmp_path / "good.json").read_text()
    (tmp_path / "bad.json").write_text(text.replace('"2.4.6"', "7"))
    done = polycmp("compare", "bad.json", "good.json")
    assert done.status == 3
    assert "bad.json" in done.err
