"""Plugins that come with the core: each is registered through the hooks that strangers use."""
