"""The tokenizers of other libraries' checkpoints, as coders: `opening.coders_of` opens them."""
