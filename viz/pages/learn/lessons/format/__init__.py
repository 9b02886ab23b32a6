"""What a lesson is made of, what it is about, and how its questions are judged."""
