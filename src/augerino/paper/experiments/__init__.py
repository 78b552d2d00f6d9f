"""The paper's experiments, one module each: settings with presets, rows, trial, table, figures."""
