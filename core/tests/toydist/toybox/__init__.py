"""A third party's plugin that needs nothing but NumPy: models as JSON, a backend that goes wrong on demand, and more.

It imports what `docs/writing-a-backend.md` calls public, and nothing else of polycmp. It is not installed: its folder,
with the metadata beside it, is put on the path.
"""
