"""Print every command and option of an installed Polygraphy, as in `../data/polygraphy-0.53.6/cli.json`.

Run it with the interpreter of an environment that has Polygraphy; the parser is read, and nothing is run.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from importlib.metadata import version
from typing import Any


def commands(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Return each command with the spellings of each of its options; argparse shows them nowhere else."""
    subparsers = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    found = {} if subparsers else {" ".join(words): sorted(" ".join(item.option_strings) for item in parser._actions)}
    for action in subparsers:
        for name, below in action.choices.items():
            found.update(commands(below, (*words, name)))
    return {name: [spellings for spellings in options if spellings] for name, options in found.items()}


def main() -> None:
    """Print all commands as JSON."""
    parser = argparse.ArgumentParser()
    subparsers = parser.add_subparsers()
    registry: Any = import_module("polygraphy.tools.registry")
    for tool in registry.TOOL_REGISTRY:
        tool.setup_parser(subparsers)
    found = {"version": version("polygraphy"), "commands": commands(parser)}
    json.dump(found, sys.stdout, indent=0)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
