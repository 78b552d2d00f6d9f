"""Data: the embedded sprites, and arrays of the user."""
