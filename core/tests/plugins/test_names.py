from __future__ import annotations

from dataclasses import make_dataclass

from polycmp.plugins import Contribution, FlagOwner, assign_flags, begin_instance, flag_of
from polycmp.spec import DataLoaderSpec, LoaderSpec, RunnerSpec, opt


def brought(spec_type, name, plugin, **aliases):
    """A contribution of `plugin` whose options are the keywords, each with its alias or aliases."""
    fields = [(field, int, opt(1, help="h", alias=alias)) for field, alias in aliases.items()]
    options = make_dataclass("Options", fields, frozen=True)
    return Contribution(spec_type(name, "summary", "a:b", options=options), plugin, f"dist-{plugin}", "1.0")


def test_flags_have_hyphens():
    assert flag_of("my_rt") == "--my-rt"
    assert flag_of("my_rt", "inter_threads") == "--my-rt-inter-threads"


def test_backend_gets_its_flag_and_each_option_one():
    rt = brought(RunnerSpec, "rt", "rt", threads=None)
    assigned, refused = assign_flags([rt])
    assert assigned == {"--rt": FlagOwner(rt, ""), "--rt-threads": FlagOwner(rt, "threads")}
    assert refused == {}


def test_only_backends_get_a_flag_of_their_name():
    assigned, _ = assign_flags([brought(DataLoaderSpec, "zeros", "z", scale=None)])
    assert list(assigned) == ["--zeros-scale"]


def test_alias_is_granted_if_nobody_else_claims_it():
    rt = brought(RunnerSpec, "rt", "rt", threads=("--threads", "-t"))
    assigned, refused = assign_flags([rt], reserved=["--model"])
    assert assigned["--threads"] == assigned["-t"] == FlagOwner(rt, "threads")
    assert refused == {}


def test_alias_claimed_by_two_goes_to_neither_and_both_are_named():
    one = brought(RunnerSpec, "one", "one", workers="--threads")
    two = brought(RunnerSpec, "two", "two", threads="--threads")
    assigned, refused = assign_flags([one, two])
    assert "--threads" not in assigned
    assert refused == {"--threads": (FlagOwner(one, "workers"), FlagOwner(two, "threads"))}
    assert [str(claim) for claim in refused["--threads"]] == [
        "option 'workers' of backend 'one' of dist-one",
        "option 'threads' of backend 'two' of dist-two",
    ]
    assert {"--one-workers", "--two-threads"} <= set(assigned)


def test_own_options_of_the_core_win_over_an_alias():
    rt = brought(RunnerSpec, "rt", "rt", path="--model")
    assigned, refused = assign_flags([rt], reserved=["--model"])
    assert "--model" not in assigned
    assert refused == {"--model": (FlagOwner(None, ""), FlagOwner(rt, "path"))}
    assert str(refused["--model"][0]) == "polycmp's own option"


def test_alias_of_a_contribution_of_the_core_wins_over_everybody():
    own = brought(DataLoaderSpec, "random", "polycmp", seed="--seed")
    rt = brought(RunnerSpec, "rt", "rt", seed="--seed")
    assigned, refused = assign_flags([rt, own])
    assert assigned["--seed"] == FlagOwner(own, "seed")
    assert refused == {"--seed": (FlagOwner(own, "seed"), FlagOwner(rt, "seed"))}


def test_generated_flag_wins_over_an_alias():
    one = brought(RunnerSpec, "one", "one", x="--two-y")
    two = brought(RunnerSpec, "two", "two", y=None)
    assigned, refused = assign_flags([one, two])
    assert assigned["--two-y"] == FlagOwner(two, "y")
    assert refused == {"--two-y": (FlagOwner(two, "y"), FlagOwner(one, "x"))}


def test_alias_may_repeat_the_generated_flag():
    assigned, refused = assign_flags([brought(RunnerSpec, "rt", "rt", fast="--rt-fast")])
    assert set(assigned) == {"--rt", "--rt-fast"}
    assert refused == {}


def test_generated_flag_of_two_plugins_goes_to_neither():
    long = brought(RunnerSpec, "x", "one", a_b=None)
    short = brought(RunnerSpec, "x_a", "two", b=None)
    assigned, refused = assign_flags([long, short])
    assert "--x-a-b" not in assigned
    assert set(refused["--x-a-b"]) == {FlagOwner(long, "a_b"), FlagOwner(short, "b")}


def test_loader_and_backend_of_one_name_share_the_prefix():
    loader = brought(LoaderSpec, "onnx", "onnx", outputs="--onnx-marks")
    backend = brought(RunnerSpec, "onnx", "onnx", ops=None)
    assigned, refused = assign_flags([loader, backend])
    assert assigned["--onnx-outputs"] == FlagOwner(loader, "outputs")
    assert assigned["--onnx-ops"] == FlagOwner(backend, "ops")
    assert refused == {}


def test_order_of_installation_does_not_matter():
    items = [
        brought(RunnerSpec, "one", "one", a="--fast"),
        brought(RunnerSpec, "two", "two", a="--fast", b="--slow"),
        brought(DataLoaderSpec, "random", "polycmp", seed="--slow"),
    ]
    forwards, backwards = assign_flags(items), assign_flags(items[::-1])
    assert forwards[0] == backwards[0]
    assert {flag: set(claims) for flag, claims in forwards[1].items()} == {
        flag: set(claims) for flag, claims in backwards[1].items()
    }


def test_the_value_of_an_option_that_has_the_backends_own_flag_follows_it():
    """`--tape reel` is `-b tape:reel=reel`; a flag without such an option stands for the backend alone."""
    tape = brought(RunnerSpec, "tape", "tape", reel="--tape", speed="--speed")
    assigned, refused = assign_flags([tape])
    assert (assigned["--tape"], assigned["--speed"]) == (FlagOwner(tape, ""), FlagOwner(tape, "speed"))
    assert refused == {}
    assert begin_instance(tape) == "tape:reel="
    assert begin_instance(brought(RunnerSpec, "rt", "rt", threads="--threads")) == "rt"
    loader = brought(DataLoaderSpec, "steps", "s", number="--steps")
    assert assign_flags([loader])[0]["--steps"] == FlagOwner(loader, "number")
