"""Compiles the RASP programs with Tracr (Lindner et al. 2023, arXiv:2301.05062) and stores the models.

Run it after changing a program, in an environment of its own, since Tracr needs JAX:

    python -m venv tracr && tracr/bin/pip install tracr-pypi
    PYTHONPATH=. tracr/bin/python tests/transformer/analysis/circuits/compile_programs.py

It writes programs.npz next to this file. `compiled.py` reads it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tracr.compiler import assemble, compiling, nodes
from tracr.craft import bases
from tracr.rasp import causal_eval

from tests.transformer.analysis.circuits.rasp_programs import Program, programs

STORED = Path(__file__).with_name("programs.npz")
BEGIN = "compiler_bos"
EXACTNESS = 50
"""Tracr's mlp_exactness: higher approximates the program better, and rounds worse."""


def main() -> None:
    """Compile all programs and store them."""
    stored: dict[str, Any] = {}
    for seed, name in enumerate(programs()):
        facts, arrays = compiled(programs()[name], seed)
        stored |= {f"{name}/{key}": array for key, array in arrays.items()}
        stored[f"{name}/facts"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    np.savez_compressed(STORED, **stored)


def compiled(program: Program, seed: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What a test needs to know of a program, as plain values and as arrays.

    The arrays: nonzero `weights` with their `places` in the weights of `names`, one after the other; `ids`
    (inputs, longest) with -1 after the end; `expected`, the same with the output's id or, where it is a
    number, the number (NaN where it is undefined); `output`, Tracr's own (inputs, longest, outputs).
    """
    caught: dict[str, Any] = {}
    crafted = compiling.craft_graph_to_model.craft_graph_to_model

    def catch(graph: Any, sources: Any) -> Any:
        caught["graph"], caught["model"] = graph, crafted(graph, sources)
        return caught["model"]

    compiling.craft_graph_to_model.craft_graph_to_model = catch
    try:
        model = compiling.compile_rasp_to_model(
            program.sop,
            set(program.vocab),
            max_seq_len=program.longest,
            causal=program.causal,
            compiler_bos=BEGIN,
            mlp_exactness=EXACTNESS,
        )
    finally:
        compiling.craft_graph_to_model.craft_graph_to_model = crafted
    inputs = program.inputs(seed)
    (sink,) = [node for node in caught["graph"].nodes.values() if node[nodes.EXPR] is program.sop]
    space = bases.VectorSpaceWithBasis(sink[nodes.OUTPUT_BASIS])
    weights = _weights(model, list(map(str, space.basis)))
    flat = np.concatenate([matrix.ravel() for matrix in weights.values()])
    places = np.flatnonzero(flat)
    facts = {
        "n_layers": model.model_config.num_layers,
        "n_heads": model.model_config.num_heads,
        "d_head": model.model_config.key_size,
        "d_ff": model.model_config.mlp_hidden_size,
        "d_model": len(model.residual_labels),
        "causal": program.causal,
        "names": {name: matrix.shape for name, matrix in weights.items()},
        "circuit": _circuit(program, inputs, **caught),
    }
    ids, expected, output = _runs(program, model, inputs, weights["unembedding"])
    arrays = {"places": places.astype(np.uint32), "weights": flat[places], "ids": ids}
    return facts, arrays | {"expected": expected, "output": output}


def _weights(model: Any, outputs: list[str]) -> dict[str, NDArray[np.float32]]:
    """The weights by our names, without the biases, all of which are 0; `outputs` are dimensions by label."""
    params = {
        name: {key: np.asarray(value) for key, value in own.items()} for name, own in model.params.items()
    }
    assert not any(own["b"].any() for own in params.values() if "b" in own)
    found = {
        "embedding": params["token_embed"]["embeddings"],
        "positions": params["pos_embed"]["embeddings"],
    }
    for layer in range(model.model_config.num_layers):
        path = f"transformer/layer_{layer}"
        ours = {"query": "w_q", "key": "w_k", "value": "w_v", "linear": "w_o"}
        for theirs, name in ours.items():
            found[f"{layer}.self_attn.{name}"] = params[f"{path}/attn/{theirs}"]["w"].T
        for theirs, name in {"linear_1": "w_1", "linear_2": "w_2"}.items():
            found[f"{layer}.feed_forward.{name}"] = params[f"{path}/mlp/{theirs}"]["w"].T
    read = [[own == label for label in model.residual_labels] for own in outputs]
    found["unembedding"] = np.array(read, dtype=np.float32)
    return {name: matrix.astype(np.float32) for name, matrix in found.items()}


def _circuit(
    program: Program, inputs: list[list[Any]], graph: Any, model: Any
) -> list[tuple[int, int, str, bool]]:
    """The heads that the compiler made, as layer, head, what it computes, and if that depends on the words.

    An attention that only counts positions is the same in all inputs of one length.
    """
    _, paths = assemble._get_model_config_and_module_names(model)
    found = []
    for path, block in zip(paths, model.blocks, strict=True):
        if path.endswith("attn"):
            layer = int(path.split("_")[1].split("/")[0])
            for head, made in enumerate(block.as_multi().heads()):
                (node,) = [one for one in graph.nodes.values() if _makes(one, made)]
                sop = node[nodes.EXPR]
                found.append((layer, head, str(sop.label), _depends_on_words(program, sop, inputs)))
    return found


def _makes(node: Any, head: Any) -> bool:
    block = node.get(nodes.MODEL_BLOCK)
    blocks = getattr(block, "blocks", [block])
    return any(one is head for one in blocks) or any(
        one is head for part in blocks if hasattr(part, "heads") for one in part.heads()
    )


def _depends_on_words(program: Program, sop: Any, inputs: list[list[Any]]) -> bool:
    values: dict[int, set[str]] = {}
    for tokens in inputs:
        values.setdefault(len(tokens), set()).add(str(_evaluated(program, sop, tokens)))
    return any(len(found) > 1 for found in values.values())


def _evaluated(program: Program, sop: Any, tokens: list[Any]) -> list[Any]:
    """What the program says, by Tracr's interpreter of RASP."""
    return list(causal_eval.evaluate(sop, tokens) if program.causal else sop(tokens))


def _runs(
    program: Program, model: Any, inputs: list[list[Any]], unembedding: NDArray[np.float32]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    n, longest = len(inputs), program.longest + 1
    ids = np.full((n, longest), -1, dtype=np.int8)
    expected = np.full((n, longest), np.nan, dtype=np.float32)
    output = np.full((n, longest, len(unembedding)), np.nan, dtype=np.float32)
    for i, tokens in enumerate(inputs):
        read = [BEGIN, *tokens]
        ids[i, : len(read)] = model.input_encoder.encode(read)
        run = model.apply(read)
        output[i, : len(read)] = np.asarray(run.transformer_output)[0] @ unembedding.T
        right = _evaluated(program, program.sop, tokens)
        known = getattr(model.output_encoder, "encoding_map", None)
        for place, (value, decoded) in enumerate(zip(right, run.decoded[1:], strict=True), start=1):
            if value is None:
                continue
            if known is None:
                assert abs(decoded - value) < 1e-2, (tokens, right, run.decoded)
            else:
                assert decoded == value, (tokens, right, run.decoded)
            expected[i, place] = value if known is None else known[value]
    return ids, expected, output


if __name__ == "__main__":
    main()
