"""Scenarios whose answer is known: models, faults, and what an expert would say of them."""
