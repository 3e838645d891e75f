"""Results on disk → pages and pictures a person reads. Reads files; imports nothing of what made them."""
