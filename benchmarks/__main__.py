"""All measurements beside Polygraphy 0.53.6, as one table: `make bench`.

    python -m benchmarks [--quick] [--only NAME ...] [--polygraphy-python PYTHON] [--output FILE]

Polygraphy is installed into an environment of its own under .cache unless an interpreter that has it is given. The
table is printed, and that of a whole run written to benchmarks/results.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import bench_compare  # noqa: E402
import bench_isolation  # noqa: E402
import bench_run  # noqa: E402
import bench_startup  # noqa: E402
from measuring import Row, as_table  # noqa: E402

ENVIRONMENT = HERE.parent / ".cache" / "bench-polygraphy"
REQUIREMENTS = ("polygraphy==0.53.6", "numpy", "onnx", "onnxruntime", "colored")
#: Scripts that print tables of their own, and what makes them quick.
SCRIPTS = {
    "files": ("bench_files.py", ["--megabytes", "20", "--repeats", "2"]),
    "markall": ("bench_markall.py", []),
    "locate": ("bench_locate.py", []),
    "default": ("bench_default.py", ["--quick", "--repeats", "2"]),
    "judging": ("bench_judging.py", ["--quick", "--repeats", "2"]),
    "growth": ("bench_growth.py", ["--quick"]),
}


def polygraphy_python() -> str:
    """Return the interpreter of the environment with Polygraphy, which is made if there is none."""
    python = ENVIRONMENT / "bin" / "python"
    ready = ENVIRONMENT / "installed"
    if not ready.exists():
        print(f"installing {REQUIREMENTS[0]} into {ENVIRONMENT.relative_to(HERE.parent)}", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", ENVIRONMENT], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True)
        ready.touch()
    return str(python)


def compare_rows(python: str, quick: bool) -> list[Row]:
    """Return the rows of bench_compare.py."""
    elements = 2_000_000 if quick else 25_700_000
    cases = [
        bench_compare.Case("a pair of {} M float32 that agrees", 1, elements, 1e-6),
        bench_compare.Case("a pair of {} M float32 that differs", 1, elements, 1e-3),
        bench_compare.Case("400 outputs of 10 elements", 400, 10, 1e-6),
    ]
    pythons = {"polycmp": sys.executable, "polycmp, all figures": sys.executable, "Polygraphy": python}
    rows = []
    for case in cases:
        found = bench_compare.measure(case, pythons, 2 if quick else 5)
        title = "compare " + case.title.format(f"{elements / 1e6:g}")
        theirs = found["Polygraphy"]
        goal = "≤ 0.05" if case.outputs == 1 else ""
        for variant, suffix in (("polycmp", ""), ("polycmp, all figures", ", with all figures of a report")):
            rows.append(Row(title + suffix, found[variant].seconds, theirs.seconds, "s", goal=goal))
        if case.outputs == 1:
            share = found["polycmp"].grown / (8 * case.elements)
            memory = f"{title}: further memory ({share:.1%} of the pair)"
            rows.append(Row(memory, found["polycmp"].grown, theirs.grown, "B", goal="≤ 10 % of the pair"))
    return rows


def script_text(name: str, python: str, quick: bool) -> str:
    """Return what a script prints."""
    file, quickly = SCRIPTS[name]
    command = [sys.executable, str(HERE / file), *(quickly if quick else [])]
    env = {**os.environ, "POLYGRAPHY_PYTHON": python}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{file} failed:\n{done.stderr[-3000:]}")
    return done.stdout.strip()


def machine() -> str:
    """Return what was measured on, in general words."""
    import numpy
    import onnxruntime

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{platform.system()} on {platform.machine()}, {cores} cores, Python {platform.python_version()}, "
        f"NumPy {numpy.__version__}, ONNX Runtime {onnxruntime.__version__}, {REQUIREMENTS[0].replace('==', ' ')}"
    )


def report(rows: list[Row], texts: dict[str, str], quick: bool, lacking: list[str]) -> str:
    """Return everything as one page, which says what is lacking."""
    today = datetime.datetime.now(datetime.timezone.utc).date()
    note = "Measured with `--quick`: few repetitions, small tensors." if quick else "Measured with `make bench`."
    parts = [
        "# Measurements",
        f"{note} {today}; {machine()}.",
        "Medians of processes or calls that take turns. A ratio below 1 means that polycmp needs less. Other programs "
        "may have run on the machine: ratios say more than times. [README.md](README.md) tells what each line is.",
        *([f"Not measured: {', '.join(lacking)}."] if lacking else []),
        as_table(rows),
    ]
    for name, text in texts.items():
        parts.append(f"## {SCRIPTS[name][0]}\n\n```text\n{text}\n```")
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Measure everything that was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few repetitions and small tensors: a trial")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="startup, run, isolation, compare, " + ", ".join(SCRIPTS)
    )
    parser.add_argument("--polygraphy-python", default=os.environ.get("POLYGRAPHY_PYTHON"))
    parser.add_argument("--output", type=Path, help="default: benchmarks/results.md, if everything is measured in full")
    options = parser.parse_args()
    python = options.polygraphy_python or polygraphy_python()
    quick = options.quick
    tables: dict[str, Callable[[], list[Row]]] = {
        "startup": lambda: bench_startup.measure(3 if quick else 15, python),
        "run": lambda: bench_run.measure(2 if quick else 9, python),
        "isolation": lambda: bench_isolation.measure(2 if quick else 7),
        "compare": lambda: compare_rows(python, quick),
    }
    present = [name for name, (file, _) in SCRIPTS.items() if (HERE / file).exists()]
    wanted = options.only or [*tables, *present]
    if unknown := set(wanted) - {*tables, *SCRIPTS}:
        parser.error(f"there is no benchmark {', '.join(unknown)}")
    rows: list[Row] = []
    texts: dict[str, str] = {}
    failed = []
    whole = not quick and not options.only
    output = options.output or (HERE / "results.md" if whole else None)
    for name in wanted:
        start = time.perf_counter()
        try:
            if name in tables:
                rows += tables[name]()
            else:
                texts[name] = script_text(name, python, quick)
        except SystemExit as error:  # the others are measured all the same
            print(f"{name}: {error}", file=sys.stderr)
            failed.append(name)
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
        page = report(rows, texts, quick, [*failed, *wanted[wanted.index(name) + 1 :]])
        if output:
            output.write_text(page, encoding="utf-8")
    print(page)
    if failed:
        raise SystemExit(f"not measured: {', '.join(failed)}")


if __name__ == "__main__":
    main()
