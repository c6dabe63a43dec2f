"""`polycmp mcp`: the server on standard input and output, or the page for agents."""

from __future__ import annotations

import click

from polycmp.command import examples
from polycmp.terminal import echo

EPILOG = """\b
Clients start the server themselves. Configure it like any other stdio server:
  {"mcpServers": {"polycmp": {"command": "polycmp", "args": ["mcp"]}}}"""


@click.command(
    "mcp",
    help="Serve run, compare, locate, bisect and reduce to agents over the Model Context Protocol, on standard input "
    "and output, or print the page that tells agents which command to use."
    + examples("polycmp mcp", "polycmp mcp --skill > .claude/skills/polycmp/SKILL.md"),
    epilog=EPILOG,
)
@click.option("--skill", is_flag=True, help="Print the page for agents (SKILL.md) and stop.")
@click.option(
    "--allow-scripts",
    is_flag=True,
    help="Let callers name code to run: scripts, libraries, packages, interpreters, run files, commands.",
)
@click.option(
    "--allow-writes",
    multiple=True,
    type=click.Path(exists=True, file_okay=False),
    metavar="FOLDER",
    help="Let callers write below this folder, and nowhere else; may be repeated. By default each call writes below "
    "its own folder.",
)
def mcp_command(skill: bool, allow_scripts: bool, allow_writes: tuple[str, ...]) -> None:
    """Serve until the client hangs up, or print the page."""
    if skill:
        from polycmp_mcp.skill import skill_text

        echo(skill_text())
        return
    from polycmp_mcp.calling import Caller
    from polycmp_mcp.server import make_server

    make_server(Caller(allow_scripts, allow_writes)).run("stdio")
