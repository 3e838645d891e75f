"""Independent judges. Nothing here imports the reference, and plain data is all that crosses the line."""
