"""A search: launched, run, resumed, stopped, reported."""
