"""Every term of the app in two sentences: what stands in the glossary and appears beside the word itself."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One entry.

    Attributes:
        name: as it stands in the glossary.
        text: two sentences, plain text.
        lesson: the name of the lesson that is about it.
        forms: as what else it is written; the plural with an s is known anyway.
    """

    name: str
    text: str
    lesson: str
    forms: tuple[str, ...] = ()


TERMS = (
    Term(
        "token",
        "What a model reads and writes one of at a time: a word, a part of a word, a sign, or a special "
        "mark. Each has an id, the row of its vector in the embedding.",
        "tokens",
    ),
    Term(
        "sub-word",
        "A token that is a part of a word, such as “ing”. With some thousand of them any word can be "
        "spelled, so nothing that is typed is unknown.",
        "tokens",
    ),
    Term(
        "special token",
        "A token that stands for no word: the beginning <bos>, the end <eos>, padding <pad>, an unknown "
        "word <unk>. A model learns vectors for them as for any other.",
        "tokens",
    ),
    Term(
        "vocabulary",
        "All tokens that a model knows, each with its id. A larger one makes sentences shorter and the "
        "embedding larger.",
        "tokens",
        ("vocabularies",),
    ),
    Term(
        "id",
        "The number of a token in the vocabulary. It means nothing by itself: it says which row of the "
        "embedding is taken.",
        "tokens",
    ),
    Term(
        "embedding",
        "A learned vector for each token of the vocabulary, the first thing that a model makes of a token. "
        "In the paper it is multiplied by √d_model before the position is added.",
        "tokens",
    ),
    Term(
        "positional encoding",
        "What tells a model where a token stands, since attention itself knows no order. The paper adds "
        "sines and cosines of many wavelengths to the embedding; others turn queries and keys, or add a "
        "bias to scores.",
        "positions",
    ),
    Term(
        "rotary position",
        "A position told by turning each query and key by an angle that grows along the sentence. The "
        "product of two of them then depends on their distance alone.",
        "positions",
    ),
    Term(
        "relative bias",
        "A learned number for each head and distance, which is added to the score. The model of it that "
        "everybody knows is T5.",
        "positions",
    ),
    Term(
        "attention",
        "How a token takes in what others hold: it weighs them, and adds up their values by these weights. "
        "It is the only place in a Transformer where tokens meet.",
        "one-head",
    ),
    Term(
        "self-attention",
        "Attention in which queries, keys and values all come from the same tokens. An encoder's looks both "
        "ways, a decoder's only back.",
        "one-head",
    ),
    Term(
        "cross-attention",
        "Attention by which the decoder reads the encoder: queries come from the target, keys and values "
        "from the source. Here a translation looks at what it translates.",
        "decoder",
    ),
    Term(
        "query",
        "The vector with which a token looks: what it asks for, made from its own vector by W_Q. Its "
        "product with each key says how well that key answers.",
        "one-head",
        ("queries",),
    ),
    Term(
        "key",
        "The vector by which a token is found: what it offers, made from its own vector by W_K. A query "
        "that points the same way gives it a high score.",
        "one-head",
    ),
    Term(
        "value",
        "The vector that a token hands over where it is looked at, made from its own vector by W_V. What a "
        "head puts out is a sum of values by their weights.",
        "one-head",
    ),
    Term(
        "score",
        "The product of a query and a key, divided by √d_head, before the softmax. It can be any number, "
        "and only differences within a row matter.",
        "one-head",
    ),
    Term(
        "weight",
        "How much of a key's value a query takes: the softmax of the scores, from 0 to 1. The weights of a "
        "row sum to 1.",
        "one-head",
        ("attention weight",),
    ),
    Term(
        "softmax",
        "Turns scores into positive numbers that sum to 1: e to each score, divided by their sum. A score "
        "that is 1 higher gets 2.7 times the weight.",
        "scale",
    ),
    Term(
        "scale",
        "The division of scores by √d_head. Without it the products of long vectors are so large that the "
        "softmax picks one key and lets no gradient through.",
        "scale",
    ),
    Term(
        "head",
        "One attention of its own, in d_head numbers of each token. A layer has several side by side, so "
        "that a token can look at different things at once.",
        "heads",
    ),
    Term(
        "d_model",
        "How many numbers a token's vector has all along the model. The heads of a layer share them out: "
        "d_head each.",
        "heads",
    ),
    Term(
        "d_head",
        "How many numbers a head's queries, keys and values have, the paper's d_k. It is d_model divided by "
        "the number of heads, mostly.",
        "scale",
    ),
    Term(
        "entropy",
        "How spread out the weights of a row are, in bits or as a number of tokens. 0 means that one key "
        "has it all; it is largest where all are equal.",
        "heads",
        ("entropies",),
    ),
    Term(
        "attention sink",
        "A token that many queries rest on when they need nothing, often the first or the end. Its value is "
        "small, so that looking there changes little.",
        "explanation",
    ),
    Term(
        "mask",
        "Says which query may look at which key. Closed cells get the score minus infinity, and so the "
        "weight 0.",
        "masks",
    ),
    Term(
        "causal mask",
        "Closes all tokens that come later. It lets a decoder learn all positions at once without reading "
        "the answers.",
        "masks",
    ),
    Term(
        "padding",
        "What fills up the shorter sentences of a batch, so that all are equally long. A mask closes it: it "
        "must change nothing.",
        "masks",
    ),
    Term(
        "residual stream",
        "A token's vector on its way up: each sublayer reads it and adds its output to it. So what one "
        "layer wrote, any later one can read.",
        "residual",
    ),
    Term(
        "sublayer",
        "Attention or feed-forward, with the sum and the norm around it. An encoder layer has two, a "
        "decoder layer with cross-attention three.",
        "residual",
    ),
    Term(
        "layer",
        "Attention and feed-forward, one after the other; a stack has several with weights of their own. "
        "Layers count from 0.",
        "residual",
    ),
    Term(
        "layer norm",
        "Brings the numbers of each token to mean 0 and deviation 1, then scales and shifts each dimension "
        "by learned γ and β. Each token is taken by itself.",
        "residual",
    ),
    Term(
        "RMS norm",
        "Divides the numbers of each token by their root mean square, and scales them by a learned γ. It is "
        "a layer norm without mean and shift.",
        "residual",
    ),
    Term(
        "pre-norm",
        "The norm stands before each sublayer, and the stream itself is never normalised until the end. "
        "Such models train without a warmup.",
        "norms",
    ),
    Term(
        "post-norm",
        "The norm follows each sum, as in the paper, and brings the stream back to one length. Deep models "
        "of this kind need a warmup.",
        "norms",
    ),
    Term(
        "feed-forward",
        "Two matrices with an activation between, for each token by itself: the second kind of sublayer. It "
        "holds most of a model's parameters.",
        "residual",
    ),
    Term(
        "encoder",
        "The stack that reads the source as a whole: every token may look at every other. What it makes of "
        "it is the memory of the decoder.",
        "decoder",
    ),
    Term(
        "decoder",
        "The stack that writes, one token after the other: each position sees itself and what came before. "
        "Its last vector becomes the scores of the next token.",
        "decoder",
    ),
    Term(
        "teacher forcing",
        "The decoder is given the right tokens so far, and not its own. So all positions are trained at "
        "once.",
        "decoder",
    ),
    Term(
        "logits",
        "One number for each token of the vocabulary, before the softmax: how well it would come next. Only "
        "their differences matter.",
        "sentence",
        ("logit",),
    ),
    Term(
        "log-probability",
        "The logarithm of a probability: 0 for what is certain, the more negative the less probable. Those "
        "of tokens add up to that of their sentence.",
        "sentence",
        ("log-probabilities",),
    ),
    Term(
        "greedy",
        "Takes the most probable token at each step. It is fast, and it may miss a better sentence that "
        "begins with a less probable word.",
        "sentence",
        ("greedily",),
    ),
    Term(
        "beam",
        "Follows several beginnings at a time and keeps the best of them. With one it is greedy.",
        "sentence",
        ("beam search",),
    ),
    Term(
        "hypothesis",
        "A beginning of a sentence that a beam follows, with its log-probability so far. It ends with the "
        "end token.",
        "sentence",
        ("hypotheses",),
    ),
    Term(
        "temperature",
        "What logits are divided by before a token is drawn. Below 1 the probable ones become more so, "
        "above 1 all become more equal.",
        "sentence",
    ),
    Term(
        "length penalty",
        "What a hypothesis's log-probability is divided by, so that longer sentences are not at a loss. "
        "With α = 0 there is none.",
        "sentence",
    ),
    Term(
        "loss",
        "The mean negative log-probability of the right tokens, in nats: 0 if the model is certain and "
        "right. Training lowers it.",
        "learning",
    ),
    Term(
        "learning rate",
        "How far an update moves the weights. It rises during the warmup and falls afterwards.",
        "learning",
    ),
    Term(
        "warmup",
        "The first updates, in which the learning rate rises. Without it a deep post-norm model may never "
        "begin to learn.",
        "norms",
    ),
    Term(
        "ablation",
        "Switching a part off to see what changes: a head's output becomes 0. It tells what the part does, "
        "which its weights alone don't.",
        "explanation",
    ),
    Term(
        "checkpoint",
        "A trained model in a file: its weights by name, and mostly its sizes. Headlight opens those of "
        "many families.",
        "tokens",
    ),
)

_BY_FORM = {form.lower(): term for term in TERMS for form in (term.name, *term.forms)}
_CODE = r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
_PROTECTED = rf"{_CODE}|\$[^$]*\$|\[[^\]]*\]\([^)]*\)|\b(?:arrow|Tab|Enter) keys?\b"
_SPOKEN = "|".join(sorted(map(re.escape, _BY_FORM), key=len, reverse=True))
_PATTERN = re.compile(
    rf"(?P<protected>{_PROTECTED})|(?<![\w-])(?P<term>{_SPOKEN})s?(?![\w-])", re.IGNORECASE | re.DOTALL
)


def links(*names: str) -> dict[str, dict[str, str]]:
    """Terms by their names, for headings of a view: where each leads, and its explanation."""
    return {
        name: {"href": f"#lesson-{_BY_FORM[name].lesson}", "title": _BY_FORM[name].text} for name in names
    }


def linked(markdown: str, known: set[str] | None = None) -> str:
    """Markdown of ours with a link at the first mention of each term, beside which its explanation appears.

    What stands in code, in a formula or in a link stays as it is. The link leads to `#lesson-` and the name
    of the term's lesson; its title is the explanation.

    Args:
        markdown: what is read. Text of users in it stands in code.
        known: names of the terms that have been explained in what is read before, and stay as they are;
            those of this text are added.
    """
    known = set() if known is None else known

    def link(found: re.Match[str]) -> str:
        if found["protected"]:
            return found[0]
        term = _BY_FORM[found["term"].lower()]
        if term.name in known:
            return found[0]
        known.add(term.name)
        return f'[{found[0]}](#lesson-{term.lesson} "{term.text}")'

    return _PATTERN.sub(link, markdown)
