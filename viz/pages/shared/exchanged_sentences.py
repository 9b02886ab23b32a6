"""Example sentences with a word exchanged for one of as many tokens, so that the output changes with it."""

EXCHANGED = {
    "The animal didn't cross the street because it was too tired.": "The animal didn't cross the street "
    "because it was too long.",
    "The animal didn't cross the street because it was too wide.": "The animal didn't cross the street "
    "because it was too lazy.",
    "My brother doesn't like his new job.": "My sister doesn't like his new job.",
    "My grandmother's house is bigger than mine.": "My grandmother's garden is bigger than mine.",
    "Where did you buy those black shoes?": "Where did you buy those black books?",
    "The keys? I left them on the table.": "The books? I left them on the table.",
    "I have never seen a raccoon.": "I have never seen a giraffe.",
    "Yesterday I saw a black cat.": "Yesterday I saw a black house.",
    "the small black cats do not like the cold water.": "the small black girls do not like the cold water.",
    "this morning the girls went to the market.": "this morning the boys went to the market.",
    "there is a nurse in the hospital.": "there is a doctor in the hospital.",
    "my sister is younger than your brother.": "my brother is younger than your brother.",
    "what is your favourite colour?": "what is your favourite house?",
}


def exchanges(text: str) -> dict[str, str]:
    """Prepared sentences that differ from one in a single word, by both words: "tired → long"."""
    words, found = text.split(), {}
    for other in dict.fromkeys((*EXCHANGED.values(), *EXCHANGED)):
        others = other.split()
        differ = [both for both in zip(words, others, strict=False) if both[0] != both[1]]
        if len(words) == len(others) and len(differ) == 1:
            found[" → ".join(word.strip(".,?!") for word in differ[0])] = other
    return found
