"""The datasets of the paper, from files at hand or downloaded."""
