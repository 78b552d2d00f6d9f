"""The paper's experiments, one file each: a frozen configuration with presets, rows, a trial, a table and figures."""
