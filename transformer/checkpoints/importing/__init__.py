"""Models of other implementations, brought into ours: recognised, configured, renamed, reported on."""
