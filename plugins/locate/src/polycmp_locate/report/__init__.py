"""The last stage: the verdict in sentences, as a JSON document, and on pages."""
