"""One file a command, found by scanning; each defines `register(app)`."""
