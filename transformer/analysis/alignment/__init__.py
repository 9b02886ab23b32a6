"""Word alignment: links between the words of a sentence pair, from what a translation model does."""
