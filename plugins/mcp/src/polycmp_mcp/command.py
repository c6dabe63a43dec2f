"""`polycmp mcp`: the server on standard input and output, or the page for agents."""

from __future__ import annotations

import click

from polycmp.command import examples, registry_of
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
    help="Let callers name code to run: scripts, libraries, interpreters, run files, commands.",
)
@click.pass_context
def mcp_command(ctx: click.Context, skill: bool, allow_scripts: bool) -> None:
    """Serve until the client hangs up, or print the page."""
    if skill:
        from polycmp_mcp.skill import skill_text

        echo(skill_text())
        return
    from polycmp_mcp.server import make_server
    from polycmp_mcp.trust import Trust

    make_server(Trust(registry_of(ctx), allow_scripts)).run("stdio")
