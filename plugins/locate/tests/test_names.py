"""Names of a program's tensors beside those of a file."""

from __future__ import annotations

from polycmp_locate.pairing.names import pair_program


def test_names_of_a_program_count_where_the_module_is_the_same():
    program = ("model.a/add", "model.a/add_1", "model.b/mul", "plain")
    file = {"add": "a", "add_1": "model.b", "mul": "model.b", "plain": "model"}
    assert [(one.candidate, one.reference) for one in pair_program(file, program)] == [
        ("add", "model.a/add"),
        ("mul", "model.b/mul"),
    ]
