"""The compare functions of a plan: what they are told by reports and data loaders."""

from __future__ import annotations

#: A half too much in one output.
BACKENDS = ("-b", "toy:name=bad,fault=add,at=y,amount=0.5", "-b", "plain")


def test_what_costs_more_is_computed_only_for_a_report(polycmp, model, monkeypatch):
    from toybox import compare

    make, seen = compare.make_gap, []

    def spied(options, *, detail):
        seen.append(detail)
        return make(options, detail=detail)

    monkeypatch.setattr(compare, "make_gap", spied)
    words = ("run", "m.toy", *BACKENDS, "--compare", "gap")
    assert polycmp(*words).status == polycmp(*words, "--report", "r.json").status == 1
    assert seen == [False, True]


def test_suggestions_of_a_data_loader_reach_a_function_and_are_told(polycmp, model):
    words = ("run", "m.toy", *BACKENDS, "--data-loader", "edges", "--compare", "gap", "--allow-blind", "y")
    done = polycmp(*words)
    assert (done.status, "gaps up to 2 are equal" in done.words) == (0, True)
    done = polycmp(*words, "--gap-allowed", "0.1")
    assert (done.status, "gaps up to 2 are equal" in done.words) == (1, False)
