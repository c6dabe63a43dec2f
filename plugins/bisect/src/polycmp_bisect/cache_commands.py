"""`polycmp cache list`, `remove` and `limit`."""

from __future__ import annotations

import click

from polycmp.command import examples
from polycmp.errors import EXIT_FAILED, UsageError, did_you_mean
from polycmp.terminal import echo, visible


@click.command(
    "list",
    help="List the environments that `version=` and `polycmp bisect` have made, and their sizes."
    + examples("polycmp cache list"),
)
def list_command() -> None:
    """Print a line for each environment, and the sum."""
    from polycmp_bisect.environments.cache import Cache, age

    cache = Cache()
    known = cache.environments()
    for item in known:
        state = f"used {age(item.used)}" if item.complete else "not made to the end: removed when it is needed"
        echo(visible(f"{_megabytes(item.size):>9}  {item.name}  {state}"))
    total = sum(item.size for item in known)
    echo(visible(f"{_megabytes(total):>9}  of {_megabytes(cache.limit)} in {cache.folder}"))


@click.command(
    "remove",
    help="Remove environments by name, or all of them."
    + examples("polycmp cache remove onnxruntime-1.20.1-py3.11-0c4aa4f2", "polycmp cache remove --all"),
)
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Remove all environments.")
def remove_command(names: tuple[str, ...], everything: bool) -> int:
    """Remove environments that nothing uses.

    Raises:
        UsageError: No name was given, or there is no environment of a name.
    """
    from polycmp_bisect.environments.cache import Cache

    cache = Cache()
    known = {item.name: item for item in cache.environments()}
    if not names and not everything:
        raise UsageError("no environment named", hint="polycmp cache list; polycmp cache remove NAME, or --all")
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"there is no environment {unknown[0]}", why=did_you_mean(unknown[0], known))
    in_use = 0
    for name in known if everything else names:
        removed = cache.remove(name)
        in_use += not removed
        echo(visible(f"removed {name} ({_megabytes(known[name].size)})" if removed else f"{name} is in use, and stays"))
    return EXIT_FAILED if in_use else 0


@click.command(
    "limit",
    help="Show how large the cache may become, or set it: environments not used for longest are then removed first."
    + examples("polycmp cache limit", "polycmp cache limit 5G"),
)
@click.argument("size", required=False, metavar="[SIZE]")
def limit_command(size: str | None) -> None:
    """Show or set the limit."""
    from polycmp.spec import parse_size
    from polycmp_bisect.environments.cache import Cache

    cache = Cache()
    if size is not None:
        for name in cache.set_limit(parse_size(size)):
            echo(visible(f"removed {name}"))
    echo(visible(f"{_megabytes(cache.limit)} for {cache.folder}"))


def _megabytes(size: int) -> str:
    return f"{size / 1024**2:.0f} MiB"
