"""The suite file: read with the lines of its keys, spread out into cases, and checked whole."""
