"""A Transformer from scratch, after Vaswani et al. 2017, "Attention Is All You Need" (arXiv:1706.03762).

Axes everywhere: B sentence in the batch, Q query position, K key position, H head, D model dimension, V word
in the vocabulary. Masks everywhere: True = may attend.
"""
