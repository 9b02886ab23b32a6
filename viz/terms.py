"""Every term of the app in two sentences, with the lesson that explains it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """One entry.

    Attributes:
        name: its name in the glossary.
        text: two sentences of plain text.
        lesson: name of the lesson that explains it.
        forms: other spellings; a plural in -s need not be listed.
    """

    name: str
    text: str
    lesson: str
    forms: tuple[str, ...] = ()


TERMS = (
    Term(
        "token",
        "The unit that a model reads and writes: a word, a part of a word, a punctuation mark or a special "
        "symbol. Each has an id, the row of its vector in the embedding.",
        "tokens",
    ),
    Term(
        "sub-word",
        "A token that is part of a word, such as “ing”. A few thousand of them can spell any word, so "
        "nothing that is typed is unknown.",
        "tokens",
    ),
    Term(
        "special token",
        "A token that is not a word: the start <bos>, the end <eos>, padding <pad>, an unknown "
        "word <unk>. A model learns vectors for them as for any other token.",
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
        "The number of a token in the vocabulary. It has no meaning of its own: it selects a row of the "
        "embedding.",
        "tokens",
    ),
    Term(
        "embedding",
        "A learned vector for each token of the vocabulary, the model's first representation of a token. "
        "In the paper it is multiplied by √d_model before the position is added.",
        "tokens",
    ),
    Term(
        "positional encoding",
        "How a model knows where a token is, since attention itself knows no order. The paper adds "
        "sines and cosines of many wavelengths to the embedding; other models rotate queries and keys, or "
        "add a bias to scores.",
        "positions",
    ),
    Term(
        "rotary position",
        "A position encoded by rotating each query and key by an angle that grows along the sentence. The "
        "product of a query and a key then depends only on their distance.",
        "positions",
    ),
    Term(
        "relative bias",
        "A learned number for each head and distance, which is added to the score. T5 is the best-known "
        "model that uses it.",
        "positions",
    ),
    Term(
        "ALiBi",
        "Attention with linear biases: each head subtracts from a score the distance of query and key times "
        "its slope, which is not learned. BLOOM and MPT use it.",
        "positions",
    ),
    Term(
        "attention",
        "How a token gathers information from others: it weighs them, and adds up their values by these "
        "weights. It is the only place in a Transformer where tokens interact.",
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
        "Attention by which the decoder reads the encoder's output: queries come from the target, keys and "
        "values from the source. Here a translation looks at the sentence that it translates.",
        "decoder",
    ),
    Term(
        "query",
        "The vector with which a token looks: what it is looking for, computed from its own vector by W_Q. "
        "Its product with each key measures how well that key matches.",
        "one-head",
        ("queries",),
    ),
    Term(
        "key",
        "The vector by which a token is found: what it offers, computed from its own vector by W_K. A query "
        "that points the same way gives it a high score.",
        "one-head",
    ),
    Term(
        "value",
        "The vector that a token passes on where it is looked at, computed from its own vector by W_V. A "
        "head's output is the weighted sum of values.",
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
        "The share of a key's value that a query takes: the softmax of the scores, from 0 to 1. The weights "
        "of a row sum to 1.",
        "one-head",
        ("attention weight",),
    ),
    Term(
        "softmax",
        "Turns scores into positive numbers that sum to 1: e to the power of each score, divided by their "
        "sum. A score that is 1 higher gets 2.7 times the weight.",
        "scale",
    ),
    Term(
        "scale",
        "The division of scores by √d_head. Without it the products of long vectors are so large that the "
        "softmax picks one key and passes no gradient on.",
        "scale",
    ),
    Term(
        "head",
        "One of several attentions in a layer, each with its own d_head numbers per token. So a token can "
        "look at different things at once.",
        "heads",
    ),
    Term(
        "d_model",
        "The number of dimensions of a token's vector throughout the model. The heads of a layer divide "
        "them: d_head each.",
        "heads",
    ),
    Term(
        "d_head",
        "The number of dimensions of a head's queries, keys and values, the paper's d_k. It is usually "
        "d_model divided by the number of heads.",
        "scale",
    ),
    Term(
        "entropy",
        "How spread out the weights of a row are, in bits or as a number of tokens. 0 means that one key "
        "gets all the weight; it is largest where all weights are equal.",
        "heads",
        ("entropies",),
    ),
    Term(
        "attention sink",
        "A token that queries look at when they need nothing, often the first or the last. Its value is "
        "small, so looking there changes little.",
        "explanation",
    ),
    Term(
        "mask",
        "Determines which query may look at which key. Closed cells get the score minus infinity, and so the "
        "weight 0.",
        "masks",
    ),
    Term(
        "causal mask",
        "Closes all later tokens. It lets a decoder learn all positions at once without seeing the answers.",
        "masks",
    ),
    Term(
        "padding",
        "Tokens that fill the shorter sentences of a batch, so that all are equally long. A mask closes "
        "them, so they change nothing.",
        "masks",
    ),
    Term(
        "residual stream",
        "A token's vector on its way through the layers: each sublayer reads it and adds its output to it. "
        "So any later layer can read what one layer wrote.",
        "residual",
    ),
    Term(
        "sublayer",
        "Attention or feed-forward, with the sum and the norm around it. An encoder layer has two of them, a "
        "decoder layer with cross-attention three.",
        "residual",
    ),
    Term(
        "layer",
        "Attention followed by feed-forward; a stack has several layers, each with its own weights. "
        "Layers count from 0.",
        "residual",
    ),
    Term(
        "layer norm",
        "Brings the numbers of each token to mean 0 and deviation 1, then scales and shifts each dimension "
        "by learned γ and β. Each token is treated separately.",
        "residual",
    ),
    Term(
        "RMS norm",
        "Divides the numbers of each token by their root mean square, then scales them by a learned γ. It is "
        "a layer norm without mean and shift.",
        "residual",
    ),
    Term(
        "pre-norm",
        "The norm comes before each sublayer, and the stream itself is not normalised until the end. "
        "Such models train without a warmup.",
        "norms",
    ),
    Term(
        "post-norm",
        "The norm follows each sum, as in the paper, and resets the length of the stream. Deep models "
        "of this kind need a warmup.",
        "norms",
    ),
    Term(
        "feed-forward",
        "Two matrices with an activation between them, applied to each token separately: the second kind of "
        "sublayer. It holds most of a model's parameters.",
        "residual",
    ),
    Term(
        "encoder",
        "The stack that reads the whole source at once: every token may look at every other. Its output is "
        "the memory that the decoder reads.",
        "decoder",
    ),
    Term(
        "decoder",
        "The stack that writes one token at a time: each position sees itself and what came before. "
        "Its last vector becomes the logits of the next token.",
        "decoder",
    ),
    Term(
        "teacher forcing",
        "The decoder reads the correct tokens so far instead of its own. So all positions are trained at "
        "once.",
        "decoder",
    ),
    Term(
        "logits",
        "One number for each token of the vocabulary, before the softmax: how well it fits as the next "
        "token. Only their differences matter.",
        "sentence",
        ("logit",),
    ),
    Term(
        "log-probability",
        "The logarithm of a probability: 0 if certain, more negative the less probable. Those of the tokens "
        "add up to that of their sentence.",
        "sentence",
        ("log-probabilities",),
    ),
    Term(
        "greedy",
        "Chooses the most probable token at each step. It is fast, but may miss a better sentence that "
        "starts with a less probable word.",
        "sentence",
        ("greedily",),
    ),
    Term(
        "beam",
        "Follows several beginnings of a sentence at a time and keeps the best. A beam of one is greedy.",
        "sentence",
        ("beam search",),
    ),
    Term(
        "hypothesis",
        "A beginning of a sentence that a beam search follows, with its log-probability so far. It is "
        "complete at the end token.",
        "sentence",
        ("hypotheses",),
    ),
    Term(
        "temperature",
        "The number that logits are divided by before a token is sampled. Below 1 probable tokens become "
        "more probable, above 1 all become more equal.",
        "sentence",
    ),
    Term(
        "length penalty",
        "The number that a hypothesis's log-probability is divided by, so that long sentences are not at a "
        "disadvantage. With α = 0 there is none.",
        "sentence",
    ),
    Term(
        "loss",
        "The mean negative log-probability of the correct tokens, in nats: 0 if the model is certain and "
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
        "Switching a part off to see what changes: a head's output becomes 0, or its mean over other "
        "sentences. It shows what the part does, which its weights alone do not.",
        "reason",
        ("switched off", "ablated"),
    ),
    Term(
        "direct effect",
        "What a part does to the output through the residual stream alone, with all later layers held as "
        "they were. The total effect includes what later layers make of it, or make up for.",
        "together",
    ),
    Term(
        "self-repair",
        "Later layers make up for a part that is switched off. Its total effect is then smaller than its "
        "direct effect.",
        "together",
    ),
    Term(
        "activation patching",
        "Replacing one part of a run by the same part of another run, whose sentence differs in a word. It "
        "shows which parts carry that difference to the output.",
        "patches",
    ),
    Term(
        "logit lens",
        "Reading the residual stream after an earlier layer through the final norm and the generator. It "
        "shows from which layer on a word is the most probable one.",
        "residual",
    ),
    Term(
        "integrated gradients",
        "The slope of the answer along the way from an empty sentence to this one, added up for each word. "
        "All words together give the change of the answer between the two ends.",
        "explanation",
    ),
    Term(
        "alignment",
        "Which source words a word of the translation renders. A head that aligns looks from one to the "
        "other.",
        "heads",
    ),
    Term(
        "checkpoint",
        "A trained model in a file: its weights by name, and usually its sizes. Headlight opens those of "
        "many kinds of model.",
        "tokens",
    ),
)
