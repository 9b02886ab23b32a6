"""The parts of a lesson, its subject, and its questions."""
