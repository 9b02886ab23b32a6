"""The parts of the benchmark, one module each: `measure(setting)` returns the rows of its table."""
