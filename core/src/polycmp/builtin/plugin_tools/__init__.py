"""Commands for authors of plugins: `plugins new` and `plugins check`."""
