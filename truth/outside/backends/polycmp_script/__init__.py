"""A backend that runs a script of one's own in another interpreter."""
