"""One vocabulary for both sides: a word that both languages have is split into the same pieces."""

from transformer.data.corpus_coding import learn_coders

PAIRS = [("Katarzyna sees Budapest.", "Katarzyna vede Budapest."), ("I see it.", "Lo vedo.")] * 3


def test_both_sides_cut_a_name_alike() -> None:
    source, target = learn_coders(lambda: PAIRS, ("en", "it"), vocab_size=400, shared=True, lowercase=False)
    assert source.vocabulary.to_lists() == target.vocabulary.to_lists()
    assert source.encode("Katarzyna").ids == target.encode("Katarzyna").ids
    assert source.encode("sees vede").ids == target.encode("sees vede").ids, "learnt of both sides"
    assert (source.tokenizer.language, target.tokenizer.language) == ("en", "it")


def test_otherwise_each_side_has_its_own() -> None:
    source, target = learn_coders(lambda: PAIRS, ("en", "it"), vocab_size=400, lowercase=False)
    assert source.vocabulary.to_lists() != target.vocabulary.to_lists()
