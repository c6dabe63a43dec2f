"""One light module and its hooks: what they may give, and the reason of a plugin that gives something else."""

from __future__ import annotations

import pytest
from fakes import runner

from polycmp.plugins import Registry


def record_of(name):
    [record] = [item for item in Registry.discover({}).records if item.name == name]
    return record


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("return [1]", "gave int instead of RunnerSpec"),
        ("return 5", "returned one int; yield each RunnerSpec"),
        ("return LoaderSpec('x', '', 'a:b')", "returned one LoaderSpec"),
        ("yield LoaderSpec('x', '', 'a:b')", "gave LoaderSpec instead of RunnerSpec"),
        ("yield RunnerSpec('Bad-Name', '', 'a:b')", "bad name 'Bad-Name'"),
        ("yield RunnerSpec(None, '', 'a:b')", "bad name None"),
        ("yield RunnerSpec('x', '', 'a.b.c')", "'a.b.c' in polycmp_runners is not of the form"),
        ("yield RunnerSpec('x', '', len)", "is not of the form"),
        ("yield RunnerSpec('x', '', 'a:b')\n    yield RunnerSpec('x', '', 'a:b')", "the backend 'x' twice"),
        ("yield RunnerSpec('x', '', 'a:b', options=dict)", "options of 'x': not a dataclass"),
        ("yield RunnerSpec('x', '', 'a:b', options=Thawed)", "the dataclass Thawed is not frozen"),
        ("yield RunnerSpec('x', '', 'a:b', options=Plain)", "the field 'a' is not made with opt()"),
        ("yield RunnerSpec('x', '', 'a:b', options=Taken)", "the field 'model' is a key that polycmp itself reads"),
        ("yield RunnerSpec('x', '', 'a:b', switches=('off',))", "a switch of 'x' is str instead of Switch"),
        (
            "yield RunnerSpec('x', '', 'a:b', switches=(Switch('off'),))",
            "names an option 'off' that it does not have",
        ),
        ("yield RunnerSpec('x', '', 'a:b', switches=(Switch('off', (), 'a'),))", "'a' of 'x' is not of the form"),
        ("yield RunnerSpec('x', '', 'a:b', options=Alias)", "the alias 'fast' is not a flag"),
        (
            "yield RunnerSpec('x', '', 'a:b', options=Long)\n    yield RunnerSpec('x_a', '', 'a:b', options=Short)",
            "clash of options: --x-a-b means both backend 'x' of fake-odd and backend 'x_a' of fake-odd",
        ),
        ("raise KeyError", "polycmp_runners raises KeyError"),
        ("class Odd(BaseException): pass\n    raise Odd('very')", "polycmp_runners raises Odd: very"),
    ],
)
def test_what_a_hook_may_not_give(site, source, reason):
    site.plugin(
        "odd",
        f"""\
from dataclasses import dataclass
from polycmp.spec import LoaderSpec, RunnerSpec, Switch, hookimpl, opt
@dataclass
class Thawed: a: int = opt(1, help='h')
@dataclass(frozen=True)
class Plain: a: int = 1
@dataclass(frozen=True)
class Taken: model: str = opt('', help='h')
@dataclass(frozen=True)
class Alias: a: int = opt(1, help='h', alias='fast')
@dataclass(frozen=True)
class Long: a_b: int = opt(1, help='h')
@dataclass(frozen=True)
class Short: b: int = opt(1, help='h')
@hookimpl
def polycmp_runners():
    {source}
""",
    )
    record = record_of("odd")
    assert record.state == "broken"
    assert reason in record.reason


def test_hook_with_an_argument_is_refused(site):
    source = "from polycmp.spec import hookimpl\n@hookimpl\ndef polycmp_runners(config):\n    return []\n"
    site.plugin("greedy", source)
    assert "a hook has the wrong form" in record_of("greedy").reason


def test_interrupt_from_the_keyboard_is_not_swallowed(site):
    site.plugin("interrupted", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        _ = Registry.discover({}).records


def test_what_plugins_print_does_not_reach_stdout(site, capsys):
    site.plugin("noisy", "print('hello from noisy')\n" + runner("noisy"))
    assert "noisy" in Registry.discover({}).runners
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello from noisy" in captured.err


COMMAND = "from polycmp.spec import {0}, hookimpl\n@hookimpl\ndef polycmp_{1}s():\n    yield {0}({2})\n"


@pytest.mark.parametrize(
    ("descriptor", "hook", "given", "reason"),
    [
        ("CommandSpec", "command", "(), '', 'a:b'", "bad command path (): a tuple of lower-case words"),
        ("CommandSpec", "command", "('Two Words',), '', 'a:b'", "bad command path ('Two Words',)"),
        ("CommandSpec", "command", "('x',), '', 'a:b', purpose='finding'", "no purpose 'finding' of a command"),
        ("CommandSpec", "command", "('x',), '', 'a.b'", "'a.b' in polycmp_commands is not of the form"),
        ("FormatSpec", "format", "'box', '', reader='a:b', writer='a:b'", "bad suffix 'box' of a format: a dot"),
        ("FormatSpec", "format", "'.box', '', reader='a', writer='a:b'", "'a' in polycmp_formats is not of the form"),
        ("ReportSpec", "report", "'TSV', '', 'a:b'", "bad suffix 'TSV' of a report: a dot"),
        (
            "ReportSpec",
            "report",
            "'.tsv', '', 'a:b', name='lines'",
            "is called after its suffix '.tsv'",
        ),
        ("ReportSpec", "report", "'', '', 'a:b', name='A B'", "bad name 'A B' of a report without suffix"),
        ("ServiceSpec", "service", "'worker', '', 'a:b'", "there is no use for a service 'worker'; did you mean"),
    ],
)
def test_each_kind_of_descriptor_is_checked(site, descriptor, hook, given, reason):
    site.plugin("odd", COMMAND.format(descriptor, hook, given))
    record = record_of("odd")
    assert record.state == "broken"
    assert reason in record.reason


def test_a_reason_stays_one_line_of_a_table(site):
    site.plugin("wordy", "raise RuntimeError('word ' * 200 + chr(10) + 'more')\n")
    assert len(record_of("wordy").reason) <= 330
    assert "\n" not in record_of("wordy").reason


def test_the_fault_is_a_row_of_the_list(site, polycmp):
    site.plugin("odd", COMMAND.format("ServiceSpec", "service", "'worker', '', 'odd_heavy:make_workers'"))
    listed = polycmp("plugins", "list")
    assert "there is no use for a service 'worker'; did you mean 'workers'" in listed.words
