"""How long the help texts take, beside Polygraphy if its interpreter is given; whole processes.

    python benchmarks/bench_startup.py [--repeats 15] [--polygraphy-python PYTHON]

polycmp runs with the plugins that are installed here, and again with 20 more: each with a backend of two options, and
each with one of eight.
The commands take turns; medians are printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from measuring import Row, as_table, beside, environment, in_turn

DUMMIES = 20
_DUMMY = """
from dataclasses import dataclass
from polycmp.spec import RunnerSpec, hookimpl, opt

@dataclass(frozen=True)
class Options:
    {options}

@hookimpl
def polycmp_runners():
    yield RunnerSpec(name="{name}", summary="Dummy {name}", factory="{name}_heavy:make", options=Options)
"""
_OPTIONS = [
    'threads: int = opt(1, help="Threads to use.")',
    'device: str = opt("cpu", help="Device to run on.", choices=("cpu", "gpu"))',
    'fast: bool = opt(False, help="Be fast.")',
    'layers: tuple[str, ...] = opt((), help="Layers to watch.")',
    'cache: str = opt("", help="Cache file.", metavar="FILE", alias="--{name}-cache-file")',
    'level: int = opt(3, help="Optimization level.", choices=range(6))',
    'scale: float = opt(1.0, help="A factor.")',
    'limit: str | None = opt(None, help="A limit.")',
]


def make_dummies(folder: Path, options: int) -> None:
    """Install plugins into a folder: metadata and one light module each."""
    source = _DUMMY.replace("{options}", "\n    ".join(_OPTIONS[:options]))
    for number in range(DUMMIES):
        name = f"dummy{number}"
        info = folder / f"polycmp_{name}-1.0.dist-info"
        info.mkdir(parents=True)
        metadata = (
            f"Metadata-Version: 2.1\nName: polycmp-{name}\nVersion: 1.0\nRequires-Dist: polycmp<0.2,>=0.1.0.dev0\n"
        )
        (info / "METADATA").write_text(metadata)
        (info / "entry_points.txt").write_text(f"[polycmp]\n{name} = {name}_plugin\n")
        (folder / f"{name}_plugin.py").write_text(source.replace("{name}", name))


def check_dummies(folder: Path) -> None:
    """Stop if a plugin is broken: those are quick."""
    command = [beside(sys.executable, "polycmp"), "plugins", "list", "--json"]
    listed = subprocess.run(command, env=environment(PYTHONPATH=str(folder)), capture_output=True, check=True).stdout
    states = [plugin["state"] for plugin in json.loads(listed)["plugins"] if plugin["name"].startswith("dummy")]
    if states.count("ok") != DUMMIES:
        raise SystemExit(f"the plugins of this benchmark are {states}")


def measure(repeats: int, polygraphy_python: str | None) -> list[Row]:
    """Return one row for each help text and number of plugins."""
    variants = {"": 0, f" with {DUMMIES} more plugins of 2 options": 2, f" with {DUMMIES} more plugins of 8 options": 8}
    with tempfile.TemporaryDirectory() as folder:
        commands: dict[str, Sequence[str]] = {}
        envs = {}
        for words in (["--help"], ["run", "--help"]):
            text = f"`{' '.join(words)}`"
            if polygraphy_python:
                commands[f"theirs {text}"] = [beside(polygraphy_python, "polygraphy"), *words]
            for variant, options in variants.items():
                commands[text + variant] = [beside(sys.executable, "polycmp"), *words]
                site = Path(folder) / str(options)
                if options and not site.exists():
                    make_dummies(site, options)
                    check_dummies(site)
                envs[text + variant] = environment(PYTHONPATH=str(site)) if options else environment()
        medians = in_turn(commands, repeats, envs)
    rows = []
    for text in ("`--help`", "`run --help`"):
        theirs = medians.get(f"theirs {text}")
        rows += [
            Row(text + variant, medians[text + variant].seconds, theirs and theirs.seconds, "s", goal="≤ 1")
            for variant in variants
        ]
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="runs of each command (default: 15)")
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    options = parser.parse_args()
    print(as_table(measure(options.repeats, options.polygraphy_python)))


if __name__ == "__main__":
    main()
