"""What each head does over many sentences: its roles, with intervals, next to a model with random weights."""
