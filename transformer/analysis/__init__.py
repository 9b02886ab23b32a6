"""What is computed from the trace of a run, as labelled arrays; and ``doctor``, which says what is wrong."""
