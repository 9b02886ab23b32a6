"""Live training runs that users start and watch, each in its own process."""
