"""A mapping file to fill in: each pattern in a checkpoint's names, with our name where it can be guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from transformer.checkpoints.importing.families.own_layout.layer_guess import LayerGuess
from transformer.checkpoints.importing.families.own_layout.name_words import (
    Guess,
    Guesses,
    Shape,
    has,
    is_embedding,
    is_mask,
    is_norm_name,
    module,
    side_of,
    words,
)
from transformer.checkpoints.importing.families.own_layout.outside_guess import guess_outside
from transformer.checkpoints.importing.families.own_layout.stored_numbers import are_equal, is_triangle
from transformer.checkpoints.importing.families.own_layout.unknown import Found, Stack, look
from transformer.checkpoints.importing.layout.names_section import MOST_BEGINNINGS
from transformer.checkpoints.importing.nearest_names import shape_text
from transformer.checkpoints.reading.raw import RawCheckpoint
from transformer.errors import CheckpointError

_HEAD = """\
# Which tensor of the files is which weight of Headlight's model: see docs/checkpoints.md.
# {} stands for a layer's number. Check the lines below, which were guessed from names and shapes; finish or
# remove those that begin with #. What `config` leaves out is read from shapes, or asked.
"""
_ONE_STACK = """\
# The only stack is taken for {}. If {},
# write {} in place of {}.
"""
_DECODER = (
    "a decoder",
    "each token sees those after it, too",
    "encoder and src_embedding",
    "decoder and tgt_embedding",
)
_ENCODER = (
    "an encoder",
    "no token sees those after it",
    "decoder and tgt_embedding",
    "encoder and src_embedding",
)
_CONFIG = """\
config:
  # n_heads: {heads}
  # norm_position: {norms}
  # activation: relu      # or gelu, gelu_tanh, silu, relu_squared
  # positions: sinusoidal # or rotary
  # embedding_scale: true # embeddings are multiplied by sqrt(d_model)
"""
_ONE_NORM = "pre    # or post, as in the paper, or output: of what a sublayer adds"
_TWO_NORMS = "both   # before a sublayer, and of what it adds"
_OUTPUT_NORM = "output # of what a sublayer adds; or post, as in the paper, with ..._norm above"
_NO_NORM = "none   # no norm was found; otherwise pre, post, both or output"
_ANY_NORM = "pre    # or post, as in the paper, both, output, none"
_BOTH_WAYS = re.compile(r".*bert.*|mlm|segments?|nsp|pooler|cls|token_type.*")
"""Words in the names of models whose tokens see those after them, too."""
_ROTARY = "rotary in halves, as in Hugging Face's models? Then by: pairs_apart"
_MOST_NAMES = 1_500
"""Most names for which a file is written: one of more would be too long to be read."""
_NO_NAMES = set("\"'#:,[]&*!|>%@`\\")


def template(raw: RawCheckpoint) -> str:
    """The text of a mapping file for a checkpoint.

    Raises:
        CheckpointError: when a name can't be a key in it, or there are too many.
    """
    found = look(raw.tensors)
    shapes = _patterns(found)
    if len(shapes) > _MOST_NAMES:
        raise CheckpointError(
            f"The tensors have {len(shapes):,} different names; a mapping file can "
            f"hold {_MOST_NAMES:,} at most."
        )
    if any(not name.isprintable() or _NO_NAMES & set(name) for name in shapes):
        raise CheckpointError("The tensors have names that no mapping file can hold: rename them first.")
    sides, layers = _sides(found)
    prefixes = {side: prefix for prefix, side in sides.items()}
    guesses = guess_outside(raw.tensors, found.outside, found.d_model, prefixes)
    for stack in found.stacks:
        if stack.prefix in sides:
            guesses |= _in_stack(stack.prefix, sides[stack.prefix], layers[stack.prefix].guesses)
    guesses = _consistent(guesses)
    has_positions = any(".positions." in ours for guess in guesses.values() for ours in guess.names)
    if len(sides) == 1 and not has_positions:
        guesses |= dict(_with_rotary(guesses))
    guesses = _consistent(guesses)
    ignored = _ignored(raw, found, guesses)
    lines = [_HEAD + _about_the_stack(sides) + "names:"]
    rest = {name: shape for name, shape in shapes.items() if name not in ignored}
    for stack in found.stacks:
        if stack.prefix in sides and stack.numbers == [*range(1, stack.depth + 1)]:
            inside = {name: rest.pop(name) for name in [*rest] if name.startswith(f"{stack.prefix}{{}}.")}
            lines += _numbered(stack, f"{sides[stack.prefix]}.layers", inside, guesses)
    lines += _lines(rest, guesses)
    if ignored:
        lines += ["ignored:", *(f"  {name}: {why}" for name, why in ignored.items())]
    return "\n".join([*lines, _CONFIG.format(heads=_heads(guesses, shapes), norms=_norms(guesses, shapes))])


def _patterns(found: Found) -> dict[str, Shape]:
    """All names, with {} for a layer's number, and their shapes; those of the largest stack first."""
    inside = {
        f"{stack.prefix}{{}}.{name}": shape for stack in found.stacks for name, shape in stack.names.items()
    }
    return inside | found.outside


def _ignored(raw: RawCheckpoint, found: Found, guesses: Guesses) -> dict[str, str]:
    """Masks, and embeddings that are stored a second time, with the reason why they are left out."""
    examples = {name: raw.tensors[name] for name in found.outside}
    for stack in found.stacks:
        for name in stack.names:
            numbered = (raw.tensors.get(f"{stack.prefix}{n}.{name}") for n in stack.numbers)
            examples[f"{stack.prefix}{{}}.{name}"] = next(stored for stored in numbered if stored)
    ignored = {}
    for name, stored in examples.items():
        is_open = name not in guesses
        if is_mask(name, stored.shape) or (is_open and (stored.dtype == "BOOL" or is_triangle(stored))):
            ignored[name] = "a mask, which Headlight makes itself"
        elif is_open and name in found.outside and is_embedding(name):
            others = [one for one in found.outside if one in guesses]
            twin = next((one for one in others if are_equal(stored, raw.tensors[one])), "")
            if twin:
                ignored[name] = f"the same numbers as {twin}"
    return ignored


def _heads(guesses: Guesses, shapes: Mapping[str, Shape]) -> str:
    """The number of heads, where queries are stored with an axis of heads; a usual number otherwise."""
    axes = {
        shapes[name][0]
        for name, guess in guesses.items()
        if guess.by == "heads_apart" and guess.names[0].endswith(".w_q.weight")
    }
    return f"{axes.pop()}            # the length of the axis of heads" if len(axes) == 1 else "8"


def _norms(guesses: Guesses, shapes: Mapping[str, Shape]) -> str:
    """The positions that the number of norms in a layer allows, the likeliest first."""
    places = {module(ours)[0] for guess in guesses.values() for ours in guess.names if ".layers." in ours}
    after = any(place.endswith("_post_norm") for place in places)
    before = any(place.endswith(("attn_norm", "feed_forward_norm")) for place in places)
    if not before and not after:
        return _ANY_NORM if any(is_norm_name(words(name)) for name in shapes) else _NO_NORM
    return _TWO_NORMS if before and after else _OUTPUT_NORM if after else _ONE_NORM


def _sides(found: Found) -> tuple[dict[str, str], dict[str, LayerGuess]]:
    """Prefixes of stacks -> "encoder" or "decoder", at most one of each; and guesses about their layers."""
    layers = {
        stack.prefix: LayerGuess(stack.names, found.d_model, in_order=[*stack.names] != sorted(stack.names))
        for stack in found.stacks
    }
    prefixes = [prefix for prefix, layer in layers.items() if layer.has_attention] or list(layers)[:1]
    named = {prefix: side_of(prefix) for prefix in prefixes}
    crossing = [prefix for prefix in prefixes if layers[prefix].crosses]
    if len(prefixes) == 1:
        both_ways = any(has(words(name), _BOTH_WAYS) for name in _patterns(found))
        sides = {
            prefixes[0]: "decoder"
            if crossing
            else named[prefixes[0]] or ("encoder" if both_ways else "decoder")
        }
    elif len(prefixes) == 2 and len(crossing) == 1:
        sides = {prefix: "decoder" if prefix in crossing else "encoder" for prefix in prefixes}
    else:
        counts = Counter(named.values())
        sides = {prefix: side for prefix, side in named.items() if side and counts[side] == 1}
    return sides, layers


def _about_the_stack(sides: Mapping[str, str]) -> str:
    if len(sides) != 1:
        return ""
    return _ONE_STACK.format(*(_DECODER if "decoder" in sides.values() else _ENCODER))


def _in_stack(prefix: str, side: str, guesses: Guesses) -> Guesses:
    return {
        f"{prefix}{{}}.{name}": guess._replace(
            names=tuple(f"{side}.layers.{{}}.{ours}" for ours in guess.names)
        )
        for name, guess in guesses.items()
    }


def _consistent(guesses: Guesses) -> Guesses:
    """Without those that lead several tensors to one weight."""
    claims = Counter(ours for guess in guesses.values() for ours in guess.names)
    return {name: guess for name, guess in guesses.items() if all(claims[ours] == 1 for ours in guess.names)}


def _with_rotary(guesses: Guesses) -> Iterator[tuple[str, Guess]]:
    """Queries and keys of a model that has no table of positions, with a remark."""
    for name, guess in guesses.items():
        if not guess.by and guess.names[0].endswith(("self_attn.w_q.weight", "self_attn.w_k.weight")):
            yield name, guess._replace(note=guess.note or _ROTARY)


def _numbered(stack: Stack, ours: str, shapes: Mapping[str, Shape], guesses: Guesses) -> Iterator[str]:
    """Layers that are counted from 1, each written out with ours; the names below them stand there once."""
    theirs = f"{stack.prefix}{{}}"
    below = [
        f"  {line.replace(f'{theirs}.', '', 1).replace(f'{ours}.{{}}.', '', 1)}"
        for line in _lines(shapes, guesses)
    ]
    for start in range(0, stack.depth, MOST_BEGINNINGS):
        numbers = range(start, min(start + MOST_BEGINNINGS, stack.depth))
        yield f"  {', '.join(theirs.format(n + 1) for n in numbers)}:"
        yield f"    at: {', '.join(f'{ours}.{n}' for n in numbers)}"
        yield from below


def _lines(shapes: Mapping[str, Shape], guesses: Guesses) -> Iterator[str]:
    """One entry for each tensor, or for a module's weight and bias together."""
    for names in _modules(shapes):
        module_guess = (
            _of_module(names, guesses) if len(names) > 1 or module(names[0])[1] == "weight" else None
        )
        if module_guess is not None:
            yield from _entry(module(names[0])[0], module_guess, shapes[names[0]])
            continue
        for name in names:
            if name in guesses:
                yield from _entry(name, guesses[name], shapes[name])
            else:
                yield f"  # {name}:  # {shape_text(shapes[name])}"


def _modules(names: Iterable[str]) -> Iterable[list[str]]:
    """Names grouped by module, where its parameters are its weight and bias; others alone."""
    groups: dict[str, list[str]] = {}
    for name in names:
        before, last = module(name)
        groups.setdefault(before if last in ("weight", "bias") else name, []).append(name)
    return groups.values()


def _of_module(names: Iterable[str], guesses: Guesses) -> Guess | None:
    """The guess about a module, if those about its weight and bias say the same: how the weight is stored."""
    found = [guesses.get(name) for name in sorted(names, reverse=True)]
    first = found[0]
    if first is None:
        return None
    modules = tuple(module(ours)[0] for ours in first.names)
    if any(guess is None or tuple(module(ours)[0] for ours in guess.names) != modules for guess in found):
        return None
    return None if "embedding" in modules[0] and "norm" not in modules[0] else first._replace(names=modules)


def _entry(theirs: str, guess: Guess, shape: Shape) -> Iterator[str]:
    note = f"  # {guess.note}" if guess.note else ""
    if len(guess.names) == 1 and not guess.by:
        yield f"  {theirs}: {guess.names[0]}{note}"
        return
    many = len(guess.names) > 1
    lines = [f"  by: {guess.by}{note}", *(["  to:"] if many else [])]
    lines += [f"    - {name}" if many else f"  to: {name}" for name in guess.names]
    yield f"  # {theirs}:  # {shape_text(shape)}" if guess.is_open else f"  {theirs}:"
    yield from (f"  # {line}" if guess.is_open else f"  {line}" for line in lines)
