"""`polycmp plugins new`: write a plugin distribution from the template, ready to install and test."""

from __future__ import annotations

import keyword
from importlib import resources
from pathlib import Path
from string import Template

import click

from polycmp.command import examples
from polycmp.errors import FileError, UsageError
from polycmp.files import cannot_write
from polycmp.plugins import BUILTIN_PLUGINS, NAME_PATTERN, known_names
from polycmp.terminal import echo

CORE_RANGE = ">=0.1.0.dev0,<0.2"
"""The range of core versions that keep today's contract."""

FILES = {
    "pyproject.toml": "pyproject.toml.tmpl",
    "README.md": "README.md.tmpl",
    "src/$package/__init__.py": "init.py.tmpl",
    "src/$package/plugin.py": "plugin.py.tmpl",
    "src/$package/runner.py": "runner.py.tmpl",
    "src/$package/py.typed": "py.typed.tmpl",
    "tests/test_$package.py": "test_package.py.tmpl",
}
"""Path in the new distribution, and the template it is made from."""


def write_distribution(name: str, folder: Path | None = None) -> list[Path]:
    """Write a complete distribution for a backend called `name`.

    Args:
        name: Name of the backend, as typed after `-b`.
        folder: Folder to write; by default `polycmp-NAME` in the current folder.

    Returns:
        The files that were written.

    Raises:
        UsageError: The name is not allowed, or belongs to a package that exists.
        FileError: The folder exists and is not empty, or cannot be written.
    """
    check_name(name)
    values = _values(name)
    folder = folder or Path(values["distribution"])
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FileError(
            f"{folder} exists already, and nothing is overwritten",
            hint=f"polycmp plugins new {name} --directory ANOTHER",
        )
    templates = resources.files("polycmp.builtin.plugin_tools") / "template"
    written = []
    for path, template in FILES.items():
        target = folder / Template(path).substitute(values)
        text = Template((templates / template).read_text(encoding="utf-8")).substitute(values)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        except OSError as error:
            raise cannot_write(target, error) from error
        written.append(target)
    return written


def check_name(name: str) -> None:
    """Check that a new plugin may have this name.

    Raises:
        UsageError: It may not.
    """
    if not NAME_PATTERN.match(name) or keyword.iskeyword(name):
        raise UsageError(
            f"{name!r} cannot be the name of a plugin",
            why="it must begin with a lower-case letter, followed by lower-case letters, digits and underscores",
            hint="polycmp plugins new my_backend",
        )
    if name in BUILTIN_PLUGINS or name in known_names().backends:
        raise UsageError(
            f"the name {name!r} is taken",
            why="two plugins with one name disable each other",
            hint=f"polycmp plugins new my_{name}",
        )


def _values(name: str) -> dict[str, str]:
    return {
        "name": name,
        "distribution": f"polycmp-{name.replace('_', '-')}",
        "package": f"polycmp_{name}",
        "class_name": "".join(part.capitalize() for part in name.split("_")) + "Runner",
        "flag": name.replace("_", "-"),
        "core_range": CORE_RANGE,
    }


@click.command(
    "new",
    help="Write a complete distribution for a new backend: code, tests, README." + examples("polycmp plugins new mine"),
)
@click.argument("name")
@click.option(
    "--directory",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder to write, which must be new or empty. Default: polycmp-NAME.",
)
def new_command(name: str, directory: Path | None) -> None:
    """Write the distribution and say what to type next."""
    written = write_distribution(name, directory)
    for path in written:
        echo(f"wrote {path}")
    root = written[0].parent
    echo(f"\nNext:\n  pip install -e '{root}[testing]'\n  python -m pytest {root}")
    echo(f"  polycmp plugins check {name}")
