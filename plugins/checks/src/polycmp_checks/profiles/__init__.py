"""Tolerances that are measured once, over many inputs and backends that are known to be right, and kept in a file."""
