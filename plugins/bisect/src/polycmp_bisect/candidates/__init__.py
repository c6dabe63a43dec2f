"""Lines of candidates to search: releases of a package, versions of Python, files."""
