"""Benchmarks of Headlight, most of them next to a peer that does the same: `make bench`."""
