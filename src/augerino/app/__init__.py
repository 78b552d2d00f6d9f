"""What each sub-command does. Only `options` is imported before the arguments are known: it needs no torch."""
