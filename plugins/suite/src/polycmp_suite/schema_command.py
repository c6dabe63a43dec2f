"""`polycmp suite schema`: the JSON Schema of suite files and run files, for editors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from polycmp.command import BackendCommand, examples, verbosity_params
from polycmp.spec import opt

if TYPE_CHECKING:
    from polycmp.command import Invocation

EPILOG = """\b
An editor reads it where the first line of a TOML file names it:
  #:schema ./suite.schema.json
It knows the options of the plugins that are installed now; write it again when others are."""


@dataclass(frozen=True)
class SchemaSection:
    """Kind of file."""

    run_file: str = opt(
        "", help="The run files of this command (--config), in place of suite files.", metavar="COMMAND"
    )


def _schema(call: Invocation) -> int:
    import json

    from polycmp.files import write_document
    from polycmp.terminal import echo

    call.begin()
    schema, path = _requested_schema(call), call.params["output"]
    if path in (None, "-"):
        echo(json.dumps(schema, indent=2, ensure_ascii=False))
    else:
        write_document(path, schema)
        echo(f"wrote {path}", err=True)
    return 0


def _requested_schema(call: Invocation) -> dict[str, Any]:
    from polycmp.errors import UsageError, did_you_mean
    from polycmp.plan import run_file_schema
    from polycmp_suite.suitefile.schema import case_commands, suite_schema

    name = call.section(SchemaSection).run_file
    if not name:
        return suite_schema(call.registry)
    tables = dict(case_commands(call.registry))
    if name not in tables:
        raise UsageError(f"{name!r} is no command with run files", why=did_you_mean(name, tables))
    return run_file_schema(tables[name], call.registry)


schema_command = BackendCommand(
    "schema",
    _schema,
    options=(SchemaSection, "log"),
    plugins=(),
    params=[
        click.Argument(["output"], metavar="[FILE.json]", required=False),
        *verbosity_params(),
    ],
    help="Write the JSON Schema of suite files, or of run files, which editors complete and check TOML with."
    + examples(
        "polycmp suite schema suite.schema.json",
        "polycmp suite schema --run-file run run.schema.json",
    ),
    epilog=EPILOG,
)
