"""One step of a search that a command checks: what is written for it, and the files sorted after it."""

from __future__ import annotations

import json
import logging
import re
import shutil
import time
from pathlib import Path

from polycmp.builtin.debug.artifact import AccessTime
from polycmp.builtin.debug.check import Check, Checked
from polycmp.builtin.debug.sections import CheckSection
from polycmp.errors import FileError, PolycmpError, UsageError, describe_exception
from polycmp.files import atomic_write, to_bytes

__all__ = ["Stepper"]

_LOG = logging.getLogger("polycmp.debug")


class Stepper:
    """Runs the check of each step, and sorts files into good and bad.

    Args:
        check: The check.
        section: Choice of files and their folders.
        artifact: The file that each step writes for the check; empty for none.

    Raises:
        UsageError: That file is there already, and might be the user's.

    Attributes:
        weights: The name of a folder beside that file for weights that all steps share; empty if the file is kept.
        whole: Whether the file should be complete in itself, because the check might copy it.
    """

    def __init__(self, check: Check, section: CheckSection, artifact: str = "") -> None:
        self.artifact = artifact
        self._check, self._section = check, section
        self._is_read = not (artifact and check.is_command)
        kept = section.no_remove_intermediate or artifact in section.artifacts
        self.weights: str = f"{Path(artifact).name}.weights" if artifact and not kept else ""
        self.whole: bool = not check.reads_in_place
        for path in filter(None, (artifact, self._shared())):
            if Path(path).exists():
                raise UsageError(
                    f"{path} is there already, and each step would overwrite it",
                    hint=f"rm -r {path}, or --iter-artifact FILE",
                )

    @property
    def any_failure(self) -> bool:
        """Whether the user said which exit statuses or outputs are failures, so that all of these are alike."""
        return bool(self._section.fail_code or self._section.fail_regex)

    def start(self) -> None:
        """Prepare the check for its first run, while this process has no threads of backends yet."""
        self._check.start()

    def begin(self, index: int) -> None:
        """Write the number of the step to the file of `--iteration-info`.

        Raises:
            FileError: The file cannot be written.
        """
        if self._section.iteration_info:
            with atomic_write(self._section.iteration_info) as file:
                file.write(to_bytes(json.dumps({"iteration": index})))

    def check(self) -> Checked:
        """Run the check.

        Raises:
            UsageError: It does not read the file that the step wrote, so that its answer is about something else.
        """
        if self._is_read or not Path(self.artifact).is_file():
            return self._check.run()
        access = AccessTime(self.artifact)
        checked = self._check.run()
        self._is_read = access.has_moved() or self._differs_without_file(checked)
        if not self._is_read:
            raise UsageError(
                f"--check: the command does not read {self.artifact}, the file of each step",
                why=f"without it, its answer was the same: exit status {checked.status}",
                hint=f"--iter-artifact FILE, under the name that the command reads, or {self.artifact} in the command",
            )
        return checked

    def _differs_without_file(self, checked: Checked) -> bool:
        """Return whether the check answers otherwise where the file is not there: numbers aside, which may be times."""
        path = Path(self.artifact)
        aside = path.rename(_aside(path))
        try:
            other = self._check.run(quiet=True)
        except PolycmpError:
            return True
        finally:
            aside.replace(path)
        return (checked.status, _words(checked.output)) != (other.status, _words(other.output))

    def sort(self, index: int, passed: bool, suffix: str = "") -> list[str]:
        """Move the artifacts of a step to those like it; return where they are now.

        Args:
            index: The step.
            passed: Whether the step passed.
            suffix: Name of the part of a search that it belongs to; empty for the whole.

        Raises:
            FileError: One cannot be moved.
        """
        folder, moved = Path(self._section.artifacts_dir, "good" if passed else "bad"), []
        for name in self._section.artifacts:
            source = Path(name)
            if not source.exists():
                _LOG.warning("step %d left no %s", index, name)
                continue
            target = _free(folder, source, f"{time.strftime('%m-%d-%y_%H-%M-%S')}_N{index}{suffix and '_'}{suffix}")
            try:
                folder.mkdir(parents=True, exist_ok=True)
                shutil.move(source, target)
            except OSError as error:
                raise FileError(f"cannot move {source} to {target}", why=describe_exception(error)) from error
            moved.append(str(target))
        return moved

    def close(self) -> None:
        """End the check, and remove the files that were written for it."""
        self._check.close()
        if not self._section.no_remove_intermediate:
            for path in filter(None, (self.artifact, self._section.iteration_info)):
                Path(path).unlink(missing_ok=True)
        if self.weights:
            shutil.rmtree(self._shared(), ignore_errors=True)

    def _shared(self) -> str:
        return str(Path(self.artifact).parent / self.weights) if self.weights else ""


def _aside(path: Path) -> Path:
    """Return a name beside a file that nothing has."""
    aside, number = path.with_name(f".{path.name}.aside"), 1
    while aside.exists():
        number += 1
        aside = path.with_name(f".{path.name}.aside{number}")
    return aside


def _words(output: str) -> str:
    return re.sub(r"\d+", "#", output)


def _free(folder: Path, source: Path, stamp: str) -> Path:
    """Return a path that nothing has: the artifacts of earlier runs stay."""
    free, number = folder / f"{source.stem}_{stamp}{source.suffix}", 1
    while free.exists():
        number += 1
        free = folder / f"{source.stem}_{stamp}_{number}{source.suffix}"
    return free
