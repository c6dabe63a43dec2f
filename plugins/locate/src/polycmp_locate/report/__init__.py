"""The last stage: what was found in words, as a JSON document, on pages and as a folder that repeats it."""
