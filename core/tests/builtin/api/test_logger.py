"""What is logged, where, and how it looks."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from polycmp.errors import FileError, PolycmpError, UsageError
from polycmp.logger import G_LOGGER, LogMode
from polycmp.messages import only_errors, setup_logging


@pytest.fixture(autouse=True)
def clean():
    """Leave the process's loggers as they were found."""
    root = logging.getLogger("polycmp")
    before = (root.level, list(root.handlers))
    yield
    for handler in root.handlers:
        if handler not in before[1]:
            handler.close()
    root.level, root.handlers = before
    root.manager._clear_cache()
    for name in ("polycmp.onnxrt", "polycmp.session", "polycmp.runs.backend_run"):
        logging.getLogger(name).setLevel(logging.NOTSET)


def speak(**options) -> list[str]:
    stream = io.StringIO()
    setup_logging(**options, stream=stream)
    for name in ("ultra_verbose", "super_verbose", "extra_verbose", "verbose", "info", "warning", "error", "critical"):
        with suppress(PolycmpError):  # "critical" raises
            getattr(G_LOGGER, name)(name)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, "[I] info"),
        ({"verbose": 1}, "[V] verbose"),
        ({"verbose": 2}, "[X] extra_verbose"),
        ({"verbose": 3}, "[S] super_verbose"),
        ({"verbose": 4}, "[U] ultra_verbose"),
        ({"verbose": 9}, "[U] ultra_verbose"),
        ({"verbose": 1, "quiet": 1}, "[I] info"),
        ({"quiet": 3}, "[W] warning"),
        ({"quiet": 4}, "[E] error"),
        ({"quiet": 9}, "[!] critical"),
        ({"verbosity": ["error"]}, "[E] error"),
        ({"verbosity": ["VERBOSE"], "quiet": 4}, "[V] verbose"),
        ({"verbose": 4, "verbosity": ["VERBOSE"], "silent": True}, "[!] critical"),
    ],
)
def test_the_options_say_from_which_severity_on_messages_are_shown(options, first):
    assert speak(**options)[0] == first


def test_the_most_specific_module_wins():
    stream = io.StringIO()
    setup_logging(verbosity=["WARNING", "runs:VERBOSE", "runs.backend_run:ERROR"], stream=stream)
    logging.getLogger("polycmp.onnxrt").info("hidden")
    logging.getLogger("polycmp.runs").debug("shown")
    logging.getLogger("polycmp.runs.backend_run").warning("hidden")
    logging.getLogger("polycmp.runs.backend_run").error("also shown")
    assert stream.getvalue().splitlines() == ["[V] shown", "[E] also shown"]


def test_a_second_setup_forgets_the_first():
    first, second = io.StringIO(), io.StringIO()
    setup_logging(verbosity=["session:VERBOSE"], stream=first)
    setup_logging(stream=second)
    logging.getLogger("polycmp.session").debug("hidden")
    logging.getLogger("polycmp.session").info("shown")
    assert (first.getvalue(), second.getvalue()) == ("", "[I] shown\n")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"verbosity": ["VERBOS"]}, "VERBOSE"),
        ({"verbosity": ["session:LOUD"]}, "LOUD"),
        ({"log_format": ["timestamps"]}, "'timestamp'"),
    ],
)
def test_an_unknown_word_is_a_usage_error_that_helps(options, word):
    with pytest.raises(UsageError) as caught:
        setup_logging(**options)
    assert word in str(caught.value)


def test_time_and_place_are_shown_on_request():
    [line] = speak(log_format=["timestamp", "line-info"], quiet=9)
    stream = io.StringIO()
    setup_logging(log_format=["line-info"], stream=stream)
    G_LOGGER.info("here")
    assert line.startswith("[!][20")
    assert f"[polycmp, {os.path.basename(__file__)}:" in stream.getvalue()


def test_messages_of_a_block_are_indented():
    stream = io.StringIO()
    setup_logging(stream=stream)
    with G_LOGGER.indent():
        G_LOGGER.warning("one\ntwo")
        with G_LOGGER.indent(2):
            G_LOGGER.warning("three")
    G_LOGGER.warning("four")
    lines = stream.getvalue().splitlines()
    assert lines == ["[W]     one", "        two", "[W]             three", "[W] four"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_only_on_a_terminal_and_only_if_wanted(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    shown = []
    for stream, log_format, no_color in (
        (Terminal(), [], ""),
        (io.StringIO(), [], ""),
        (Terminal(), ["no-colors"], ""),
        (Terminal(), [], "1"),
    ):
        monkeypatch.setenv("NO_COLOR", no_color)
        setup_logging(log_format=log_format, stream=stream)
        G_LOGGER.error("x")
        shown.append("\x1b[" in stream.getvalue())
    assert shown == [True, False, False, False]


def test_the_log_file_gets_what_is_shown_without_colours_and_its_folder_is_made(tmp_path):
    file = tmp_path / "new" / "folder" / "run.log"
    setup_logging(log_file=str(file), stream=Terminal())
    G_LOGGER.error("näh")
    G_LOGGER.verbose("hidden")
    assert file.read_text(encoding="utf-8") == "[E] näh\n"


def test_a_log_file_that_cannot_be_written_is_a_file_error(tmp_path):
    with pytest.raises(FileError) as caught:
        setup_logging(log_file=str(tmp_path))
    assert str(tmp_path) in str(caught.value)


def test_the_severity_changes_for_the_length_of_a_block():
    stream = io.StringIO()
    setup_logging(stream=stream)
    before = G_LOGGER.severity
    with G_LOGGER.verbosity(G_LOGGER.VERBOSE), io.StringIO() as something:
        G_LOGGER.verbose("inside")
        assert something.closed is False
    with pytest.raises(ZeroDivisionError), G_LOGGER.verbosity():
        G_LOGGER.error("hidden")
        _ = 1 / 0
    G_LOGGER.verbose("hidden")
    assert stream.getvalue() == "[V] inside\n"
    assert G_LOGGER.severity == before == G_LOGGER.INFO


@pytest.mark.parametrize("own_handler", [False, True])
def test_of_a_thread_only_errors_are_shown_and_of_the_others_everything(own_handler):
    """Whoever shows it: our handlers or the program's, which stay as they are."""
    stream = io.StringIO()
    setup_logging(stream=stream)
    shown = logging.StreamHandler(stream)
    if own_handler:
        setup_logging(silent=True)
        logging.getLogger("polycmp").setLevel(logging.INFO)
        logging.getLogger().addHandler(shown)
    quiet, told = threading.Event(), threading.Event()
    part_of_us = logging.getLogger("polycmp.part")

    def part():
        with only_errors(of_thread=True), only_errors():
            quiet.set()
            told.wait(10)
            part_of_us.warning("hidden")
            part_of_us.error("an error")
            filters = [item for handler in logging.getLogger().handlers for item in handler.filters]
            assert not filters
        part_of_us.warning("again")

    thread = threading.Thread(target=part)
    try:
        thread.start()
        quiet.wait(10)
        logging.getLogger("polycmp.session").info("of another thread")
        told.set()
        thread.join()
    finally:
        logging.getLogger().removeHandler(shown)
    lines = [line.removeprefix(f"[{line[1]}] ") if line[0] == "[" else line for line in stream.getvalue().splitlines()]
    assert lines == ["of another thread", "an error", "again"]
    assert not part_of_us.filters


def test_those_who_ask_for_more_than_usual_see_what_a_thread_logs():
    stream = io.StringIO()
    setup_logging(verbose=1, stream=stream)
    with only_errors(of_thread=True):
        logging.getLogger("polycmp.session").info("shown")
    with only_errors(of_thread=True, unless=True):
        logging.getLogger("polycmp.session").warning("shown, too")
    assert stream.getvalue() == "[I] shown\n[W] shown, too\n"


def test_a_message_that_nobody_sees_is_not_made():
    setup_logging(stream=io.StringIO())
    made = []
    G_LOGGER.verbose(lambda: made.append(1) or "text")
    G_LOGGER.info(lambda: made.append(2) or "text")
    assert made == [2]


def test_a_plain_program_sees_messages_on_stderr_once_it_asks_and_stdout_stays_clean():
    program = (
        "from polycmp.errors import PolycmpError\n"
        "from polycmp.logger import G_LOGGER\n"
        "G_LOGGER.info('unasked')\n"
        "with G_LOGGER.verbosity(G_LOGGER.VERBOSE):\n"
        "    G_LOGGER.verbose('asked')\n"
        "try: G_LOGGER.critical('cannot go on')\n"
        "except PolycmpError as error: print(error)\n"
        "G_LOGGER.severity = G_LOGGER.INFO\n"
        "G_LOGGER.info('from now on')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["cannot go on"]
    assert done.stderr.splitlines() == ["[V] asked", "cannot go on", "[I] from now on"]


@pytest.fixture
def logger():
    names = ("polycmp", "polycmp.onnxrt")
    before = {name: logging.getLogger(name).level for name in names}
    handlers = list(logging.getLogger("polycmp").handlers)
    yield G_LOGGER
    G_LOGGER.log_file = None
    G_LOGGER.module_severity = logging.WARNING
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)
    logging.getLogger("polycmp").handlers[:] = handlers


def test_severities_are_set_by_module(logger):
    logger.module_severity = {"": logger.ERROR, "onnxrt": logger.VERBOSE}
    assert logger.severity == logger.ERROR
    assert logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.DEBUG)
    assert logger.module_severity == {"onnxrt": logger.VERBOSE, "": logger.ERROR}
    with logger.verbosity({"": logger.INFO, "onnxrt": logger.CRITICAL}):
        assert not logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.ERROR)
        assert logger.severity == logger.INFO
    assert logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.DEBUG)
    logger.module_severity = logger.WARNING
    assert not logging.getLogger("polycmp.onnxrt").isEnabledFor(logging.INFO)


def test_messages_go_to_the_log_file(logger, tmp_path):
    logger.log_file = str(tmp_path / "a.log")
    logger.module_severity = logger.INFO
    logger.info("to the file")
    assert logger.log_file == str(tmp_path / "a.log")
    logger.log_file = None
    logger.info("not any more")
    assert (tmp_path / "a.log").read_text() == "[I] to the file\n"


def test_a_message_is_shown_once_where_that_is_asked_for(logger, tmp_path):
    logger.log_file = str(tmp_path / "a.log")
    logger.module_severity = logger.INFO
    for _ in range(2):
        logger.warning("once: a message of this test alone", mode=LogMode.ONCE)
        logger.warning("each")
    text = (tmp_path / "a.log").read_text()
    assert (text.count("once"), text.count("each")) == (1, 2)


def test_callbacks_see_the_severity(logger):
    seen = []
    logger.register_callback(lambda severity: seen.append(severity[""]))
    logger.module_severity = logger.ERROR
    assert seen[-1] == logger.ERROR


def test_an_unknown_attribute_of_the_logger_is_an_error(logger):
    with pytest.raises(AttributeError):
        logger.module_severities = 1
