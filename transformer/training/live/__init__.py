"""Training runs that users start and watch: each in a process of its own."""
