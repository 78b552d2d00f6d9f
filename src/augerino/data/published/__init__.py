"""Published datasets, read from local files or downloaded."""
