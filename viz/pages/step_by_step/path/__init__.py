"""The path of one token: the stages reduced to its row, for the moving picture."""
