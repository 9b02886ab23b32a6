"""The formats of files of weights: readers, and descriptions of formats that are not read."""
