"""The ports that come with the suite: one file each, found by scanning (engine/ports/registry.py)."""
