"""Models trained with a toolkit: fairseq, OpenNMT-py, Marian, x-transformers."""
