from random import Random

from hypothesis import given
from hypothesis import strategies as st

from transformer.data.noise import add_typing_noise


def ways(sentence: str) -> set[str]:
    return {add_typing_noise(sentence, Random(seed)) for seed in range(100)}


def test_every_way_of_a_sentence() -> None:
    assert ways("I don't know Tom.") == {
        "I don't know Tom",
        "i don't know Tom.",
        "i don't know tom.",
        "i don't know tom",
        "I don’t know Tom.",
        "i don’t know Tom",
    }


def test_where_there_is_nothing_to_do_worse_it_stays() -> None:
    assert ways("ciao") == {"ciao"}
    assert ways("") == {""}
    assert ways("...") == {"..."}, "nothing would be left of it"


@given(st.text(), st.integers(0, 1000))
def test_letters_stay(sentence: str, seed: int) -> None:
    """Whatever is typed: some letters may become small, an apostrophe curly, the end lost; no more."""
    worse = add_typing_noise(sentence, Random(seed))
    assert bool(worse.strip()) == bool(sentence.strip())
    assert sentence.lower().replace("'", "’").startswith(worse.lower().replace("'", "’"))
