"""The metrics that a search can log, one a file: each holds a `METRIC`, and `metrics.registry` has a line for it."""
