"""Execution of backends: one backend, one loop, inputs, saved runs."""
