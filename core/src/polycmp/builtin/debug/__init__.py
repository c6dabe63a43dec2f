"""Steps that a command checks: repeating them, keeping their verdicts, and the command class with `--check`."""
