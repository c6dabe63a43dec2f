"""Random plans over everything that is installed, and the way from words back to a plan."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from hypothesis import strategies as st

from polycmp._builtin_options import NAN_POLICIES, STATISTICS
from polycmp.cli.run import run_command
from polycmp.command import Invocation
from polycmp.errors import UsageError
from polycmp.options import changed_options, option_fields
from polycmp.plan import BackendPlan, Choice, ComparePlan, DataPlan, FilesPlan, Plan
from polycmp_checks.plugin import FAULTS
from polycmp_checks.stress.options import STRESS_KINDS

#: What breaks grammars: separators, brackets, quotes, flags, blanks, line ends, other alphabets, escapes.
NASTY = [
    "a b", " a", "a ", "a,b", ",", "a=b", "=", "a:b", ":", "[", "]", "[a]", "[a,b", "(a", "a)", "[[a]]", "'", '"', "''",
    "'a'", '"a"', "it's", "'a':'b'", "'a','b'", "a'b\"c", "-a", "--", "--atol", "-b", "-1", "-.5", "true", "false",
    "#2", "ä☃𝄞", "a\nb", "\ta", "a\\b", "$HOME", "`x`", "%", "*", "a#2", "\x7f", "e:[1,2]", "top-3,axis=1", "{x}",
    "!", "~",
]  # fmt: skip
CHARS = st.characters(
    exclude_categories=("Cs",), exclude_characters="\0\x1f"
)  # no shell can hold NUL; U+001F joins words
#: A value of nothing but blanks counts as none, which every option refuses.
text = st.one_of(st.sampled_from(NASTY), st.text(CHARS, min_size=1, max_size=8).filter(str.strip))
number = st.one_of(st.floats(0, 1e30), st.sampled_from([0.0, 1e-5, 5e-324, 1e22]))
shape = st.lists(st.integers(0, 9), max_size=3).map(tuple)
span = st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)).map(sorted).map(tuple)


def paths(name):
    """Return paths of one option; two options never have the same."""
    return text.map(lambda item: f"{item}.{name}")


#: What fields take whose type alone does not say it, by name; for the rest see `value_of`.
FIELDS = {
    "kinds": st.sampled_from(list(STRESS_KINDS)),
    "check_error_stat": st.sampled_from(STATISTICS),
    "nan": st.sampled_from(NAN_POLICIES),
    "error_quantile": st.floats(0, 1),
    "within": st.floats(0, 1, exclude_min=True),
    "rtol": number,
    "atol": number,
    "val_range": span,
    "seed": st.integers(0, 2**32 - 1),
    "seeds": st.integers(0, 2**32 - 1),
    "sizes": st.integers(1, 50),
    "iterations": st.integers(1, 50),
    "tolerance": st.integers(0, 10**20),
    "k": st.integers(1, 9),
    "threads": st.integers(1, 64),
    "inter_threads": st.integers(1, 64),
    "providers": st.sampled_from(["cpu", "CPUExecutionProvider", "cuda[device_id=1;a=b]", "cuda[a=1,b=2]"]),
    "optimization": st.sampled_from(["off", "basic", "all"]),
    "external_data_size_threshold": st.integers(0, 2**40),
    "pool_limit": st.integers(0, 2**40),
    "workspace": st.integers(0, 2**40),
    "tensor_formats": st.sampled_from(["hwc", "hwc,chw4"]),
    "weight_streaming_budget": st.sampled_from(["-2", "-1", "50%", "1G"]),
    "fault": st.sampled_from(list(FAULTS)),
}
GROUPS = ("min_shapes", "opt_shapes", "max_shapes")
NAMED = {"config", "pool_limit", "layer_precisions", "tensor_dtypes", "tensor_formats"}  # no value without a name


def value_of(field, owner):
    """Return values of one field of an options dataclass."""
    one = FIELDS.get(field.name)
    if one is None or (owner in {"l2", "psnr", "snr", "cosine_similarity"}):
        one = {bool: st.booleans(), int: st.integers(0, 9), float: st.floats(0, 1)}.get(field.item, text)
    if re.search("FILE|PATH|DIR", field.metavar):
        one = paths(f"{owner}-{field.name}")
    if field.choices:
        one = st.sampled_from(field.choices)
    if field.kind == "list":
        return st.lists(one, min_size=1, max_size=3).map(tuple)
    if field.kind == "groups":
        group = st.lists(st.builds(lambda n, s: f"{n}:[{n},{s}]", st.integers(1, 9), st.integers(1, 9)), min_size=1)
        return st.lists(group.map(tuple), min_size=1, max_size=2).map(tuple)
    if field.kind == "mapping":
        names = text if field.name in NAMED else st.one_of(st.just(""), text)
        values = st.lists(one, min_size=1, max_size=2).map(tuple) if field.accumulates else one
        return st.dictionaries(names, values, min_size=1, max_size=3)
    return one


@cache
def options_of(options, owner):
    """Return instances of an options dataclass; those that it refuses do not count."""
    if options is None:
        return st.none()
    fields = {field.name: value_of(field, owner) for field in option_fields(options)}
    required = {name: fields[name] for name in ("backend", "fault", "at") if owner == "faulty"}
    some = st.lists(st.sampled_from(sorted(fields)), max_size=4, unique=True)
    chosen = some.flatmap(
        lambda names: st.fixed_dictionaries({**required, **{name: fields[name] for name in names}}),
    )
    return chosen.map(lambda values: _make(options, values)).filter(lambda made: made is not None)


def _make(options, values):
    try:
        return options(**values)
    except (ValueError, UsageError):
        return None


def choice_of(table, names=None):
    """Return contributions chosen by name, with options."""
    chosen = st.sampled_from(sorted(names or table))
    return chosen.flatmap(lambda name: st.builds(Choice, st.just(name), options_of(table[name].spec.options, name)))


def backends_of(registry):
    """Return instances with labels that no other has."""
    names = [*registry.runners, "faulty"]
    here = st.sampled_from(names).flatmap(
        lambda name: st.builds(
            BackendPlan,
            label=st.one_of(st.just(name), text),
            backend=st.just(name),
            options=options_of(registry.find_runner(name).spec.options, name),
            model=st.one_of(st.just(""), paths("onnx")),
            python=st.one_of(st.just(""), paths("python")) if name in registry.runners else st.just(""),
        )
    )
    words = st.sampled_from(["1", "true", "[a,b]", "'x,y'", "a:b"])
    elsewhere = st.builds(
        BackendPlan, label=text, backend=st.just("elsewhere"), python=paths("python"),
        texts=st.dictionaries(st.sampled_from(["alpha", "beta_gamma"]), words),
    )  # fmt: skip
    return st.lists(st.one_of(here, here, elsewhere), min_size=1, max_size=3, unique_by=lambda item: item.label).map(
        tuple
    )


def data_of(registry):
    """Return where inputs come from."""
    names = st.lists(text, min_size=1, max_size=2, unique=True)
    sets = names.flatmap(
        lambda names: (
            st.lists(st.tuples(*[shape for _ in names]), min_size=1, max_size=3, unique=True)
            .map(lambda rows: [dict(zip(names, row, strict=True)) for row in rows])
            .filter(lambda rows: all(len({row[name] for row in rows}) == len(rows) for name in names))
        )
    )
    none = st.just([{}])
    files = st.lists(paths("npz"), min_size=1, max_size=3, unique=True).map(tuple)
    source = st.one_of(
        st.just({}), st.fixed_dictionaries({"script": paths("py")}), st.fixed_dictionaries({"files": files})
    )
    following = {name for name, item in registry.data_loaders.items() if item.spec.follows}
    followers = st.one_of(st.just(()), st.lists(choice_of(registry.data_loaders, following), max_size=1))
    return st.builds(
        lambda loader, sets, sizes, source, others: DataPlan(
            loader, input_shapes=sets[0], further_shapes=tuple(sets[1:]), dimensions=sizes, **source,
            followers={item.name: item.options for item in others if changed_options(item.options)},
        ),
        choice_of(registry.data_loaders, registry.data_loaders.keys() - following), st.one_of(none, sets),
        st.dictionaries(text, st.integers(0, 9), max_size=2),
        source, followers,
    )  # fmt: skip


def plans_of(registry):
    """Return plans of runs as the command line makes them."""
    maybe = lambda strategy, nothing="": st.one_of(st.just(nothing), strategy)  # noqa: E731
    some = lambda name: st.lists(paths(name), max_size=2, unique=True).map(tuple)  # noqa: E731
    files = st.builds(
        FilesPlan, save_inputs=maybe(paths("in.json")), save_outputs=maybe(paths("out.json")),
        save_input_blob=maybe(st.one_of(st.just("."), paths("blobs")), None), load_outputs=some("golden.npz"),
        reports=some("report.json"),
    )  # fmt: skip
    compare = st.builds(
        ComparePlan,
        functions=st.lists(choice_of(registry.compare_funcs), min_size=1, max_size=3, unique_by=lambda item: item.name)
        .map(tuple),
        script=maybe(paths("compare.py")), tolerance=maybe(st.just("auto")), reference=maybe(text),
        map_output=st.dictionaries(text, text, max_size=2),
        shape_check=st.booleans(), postprocess=st.dictionaries(maybe(text), text, max_size=2),
        postprocess_script=maybe(paths("post.py")), validate=st.booleans(), fail_fast=st.booleans(),
        check_average=st.booleans(), detail=st.booleans(),
    )  # fmt: skip
    loaders = {name: item for name, item in registry.loaders.items() if item.spec.options is not None}
    loader_options = st.lists(choice_of(loaders), max_size=1).map(
        lambda chosen: {item.name: item.options for item in chosen if item.options != type(item.options)()}
    )
    reports = {name: item for name, item in registry.reports.items() if item.spec.options is not None}
    report_options = st.lists(choice_of(reports), max_size=1).map(
        lambda chosen: {item.name: item.options for item in chosen if item.options != type(item.options)()}
    )
    observers = {name: item for name, item in registry.observers.items() if item.spec.options is not None}
    observer_options = st.lists(choice_of(observers), max_size=1).map(
        lambda chosen: {item.name: item.options for item in chosen if item.options != type(item.options)()}
    )
    plan = st.builds(
        Plan, model=st.one_of(paths("onnx"), text.filter(str.strip)), model_kind=maybe(text),
        loader_options=loader_options, backends=backends_of(registry), data=data_of(registry), compare=compare,
        files=files,
        report_options=report_options, observer_options=observer_options,
        sequential=st.booleans(), warm_up=st.integers(0, 3), subprocess=st.booleans(),
        timeout=st.sampled_from([0.0, 0.1, 1e9]), max_memory=st.sampled_from([0, 1, 2**40]),
    )  # fmt: skip
    return plan.map(consistent)


def consistent(plan):
    """Return the plan with what the rest of it decides."""
    detail = bool(plan.files.reports or "accuracy" in plan.observer_options)
    return replace(plan, compare=replace(plan.compare, detail=detail))


def plan_of_words(words):
    """Return the plan that a command line makes."""
    assert words[0] == "run"
    with run_command.make_context("run", list(words[1:])) as context:
        return Invocation(context, context.registry, context.table).plan()
