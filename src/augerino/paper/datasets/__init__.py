"""The datasets of the paper, read from local files or downloaded."""
