"""A backend with one of its optimisations switched off: the values that leave out more, and the words that say so."""

from __future__ import annotations

import pytest
from toy_backend import install_forge
from toymodels import chain

from polycmp.builtin.layerwise.variants import Switches
from polycmp.plan import Plan, plan_backends
from polycmp.plugins import Registry
from polycmp.runs import resolve

SWITCHES = "(Switch('refuses', ('Relu', 'Mat Mul')), Switch('dtype', ('float16', 'bfloat16', 'float64')))"


@pytest.fixture
def switches_of(toybox, site, tmp_path):
    """Return the switches of the backend `forge` with the options that words give."""
    install_forge(site, switches=SWITCHES)
    path = str(chain(tmp_path / "m.toy", 2))

    def of(words):
        registry = Registry.discover()
        resolved = resolve(Plan(model=path, backends=plan_backends([words], {}, registry)), registry)
        return Switches(resolved.backends[0], resolved.backends[0].model.graph())

    return of


@pytest.mark.parametrize(
    ("words", "of_many", "of_one"),
    [
        ("forge", ("Relu", "Mat Mul"), ("float16", "bfloat16", "float64")),
        ("forge:refuses=[Relu],dtype=float16", ("Mat Mul",), ("bfloat16", "float64")),
        ("forge:dtype=float64", ("Relu", "Mat Mul"), ()),
    ],
)
def test_what_is_left_out_already_is_no_value(switches_of, words, of_many, of_one):
    switches = switches_of(words)
    many, one = switches.switches
    assert (switches.takes_several(many), switches.takes_several(one)) == (True, False)
    assert (switches.values(many), switches.values(one)) == (of_many, of_one)


def test_values_join_those_that_are_set_or_take_their_place(switches_of):
    switches = switches_of("forge:refuses=[Relu],dtype=float16")
    many, one = switches.switches
    assert switches.set_to(many, ("Mat Mul",)).plan.options.refuses == ("Relu", "Mat Mul")
    assert switches.set_to(one, "float64").plan.options.dtype == "float64"


@pytest.mark.parametrize(
    ("words", "value", "typed"),
    [
        ("forge", "float16", "-b forge:dtype=float16"),
        ("forge:name=mine", "float16", "-b forge:dtype=float16,name=mine"),
        ("forge:name=my own", "float16", "-b 'forge:dtype=float16,name=my own'"),
        ("forge", "int4", ""),
    ],
)
def test_the_words_are_what_a_shell_takes(switches_of, words, value, typed):
    switches = switches_of(words)
    assert switches.words(switches.switches[1], value) == typed


def test_a_backend_that_writes_no_model_tells_nothing_of_how_it_rewrote_it(switches_of):
    assert switches_of("forge").rewritten() is None
