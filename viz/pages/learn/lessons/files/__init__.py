"""What a lesson is saved as, and what a reader keeps of their answers."""
