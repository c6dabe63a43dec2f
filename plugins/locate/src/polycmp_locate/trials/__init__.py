"""Trials with whole models, and parts of them, that a verdict may ask for."""
