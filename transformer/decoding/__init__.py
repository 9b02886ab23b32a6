"""From a source to a target: greedy, beam search, sampling."""
