"""Benchmarks of Headlight, most of them against a peer that does the same: `make bench`."""
