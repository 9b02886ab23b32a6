"""The tap: what it records under which names, what an edit does, and that runs are isolated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import Tensor

from tests.transformer.model.core import (
    BATCH,
    KINDS,
    SRC_LENGTH,
    TGT_LENGTH,
    batch,
    deviation,
    random_ids,
    tiny_config,
    tiny_transformer,
    trace_of,
    with_pair,
)
from transformer.model.trace import NO_TAP, Editor, Recorder, Trace
from transformer.model.transformer import Transformer

HEADS, D_HEAD, D_MODEL = 3, 22, 66
SRC_TOKENS = [[f"src {b} {k}" for k in range(SRC_LENGTH)] for b in range(BATCH)]
TGT_TOKENS = [[f"tgt {b} {q}" for q in range(TGT_LENGTH)] for b in range(BATCH)]

EMBEDDING = ["tokens", "positions", "out"]
NORM = ["input", "mean", "scale", "normalized", "result"]
ATTENTION = ["q", "k", "v", "scores", "mask", "weights", "z", "out"]
FEED_FORWARD = ["hidden", "out"]


def under(prefix: str, names: list[str]) -> list[str]:
    return [f"{prefix}.{name}" for name in names]


def sublayer(prefix: str, name: str, names: list[str], norm_first: bool) -> list[str]:
    body, norm = under(f"{prefix}.{name}", names), under(f"{prefix}.{name}_norm", NORM)
    return norm + body if norm_first else body + norm


def layer_paths(prefix: str, norm_first: bool, cross: bool) -> list[str]:
    """Everything that a layer records, in forward order."""
    middle = []
    if cross:
        middle = [*sublayer(prefix, "cross_attn", ATTENTION, norm_first), f"{prefix}.resid_mid_cross"]
    return [
        f"{prefix}.resid_pre",
        *sublayer(prefix, "self_attn", ATTENTION, norm_first),
        f"{prefix}.resid_mid",
        *middle,
        *sublayer(prefix, "feed_forward", FEED_FORWARD, norm_first),
        f"{prefix}.resid_post",
    ]


@pytest.mark.parametrize("norm_position", ["pre", "post"])
@pytest.mark.parametrize("kind", KINDS)
def test_everything_is_recorded_in_the_order_of_the_forward(kind: str, norm_position: str) -> None:
    model = tiny_transformer(**KINDS[kind], norm_position=norm_position, final_norm=True)
    expected = []
    for side, stack, n_layers in (
        ("src", "encoder", model.config.n_encoder_layers),
        ("tgt", "decoder", model.config.n_decoder_layers),
    ):
        if n_layers:
            expected += under(f"{side}_embedding", EMBEDDING)
            for i in range(n_layers):
                cross = stack == "decoder" and kind == "encoder-decoder"
                expected += layer_paths(f"{stack}.layers.{i}", norm_position == "pre", cross)
            expected += under(f"{stack}.final_norm", NORM)
    assert list(trace_of(model, *batch(model.config))) == [*expected, "logits"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_is_a_module_and_the_prefix_of_its_parameters(kind: str) -> None:
    model = tiny_transformer(**KINDS[kind], final_norm=True, positions="learned")
    modules = dict(model.named_modules())
    recorded = {path.rpartition(".")[0] for path in trace_of(model, *batch(model.config))}
    assert recorded <= set(modules)
    for name in model.state_dict():
        assert name.startswith("generator.") or any(
            name.startswith(f"{path}.") for path in recorded if path
        ), name


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_recorded_is_what_was_computed_with(kind: str) -> None:
    """Each recorded number follows from the recorded numbers that it is computed from."""
    model = tiny_transformer(**KINDS[kind], norm_position="pre")
    trace = trace_of(model, *batch(model.config))
    modules = dict(model.named_modules())
    for path, value in trace.items():
        prefix, _, name = path.rpartition(".")
        if name == "z":
            out = trace[f"{prefix}.weights"] @ trace[f"{prefix}.v"]
            w_o = modules[f"{prefix}.w_o"]
            assert deviation(value, out) < 1e-6
            assert deviation(trace[f"{prefix}.out"], w_o(value.transpose(1, 2).flatten(2))) < 1e-6
        if name == "resid_mid":
            added = trace[f"{prefix}.resid_pre"] + trace[f"{prefix}.self_attn.out"]
            assert deviation(value, added) < 1e-6
        if name == "resid_post":
            before = trace.get(f"{prefix}.resid_mid_cross", trace[f"{prefix}.resid_mid"])
            assert deviation(value, before + trace[f"{prefix}.feed_forward.out"]) < 1e-6
    for side in ("src_embedding", "tgt_embedding"):
        if f"{side}.out" in trace:
            assert torch.equal(trace[f"{side}.out"], trace[f"{side}.tokens"] + trace[f"{side}.positions"])


def labelled_trace(**changes: object) -> Trace:
    model = tiny_transformer(**changes)
    recorder = Recorder()
    model(*batch(model.config), tap=recorder)
    return Trace(recorder.records, SRC_TOKENS, TGT_TOKENS)


def test_views_of_attention() -> None:
    trace = labelled_trace()
    src, tgt = (tuple(map(tuple, tokens)) for tokens in (SRC_TOKENS, TGT_TOKENS))
    for stack, name, queries, keys in (
        ("encoder", "self_attn", src, src),
        ("decoder", "self_attn", tgt, tgt),
        ("decoder", "cross_attn", tgt, src),
    ):
        record = trace.attention(stack, 1, name)  # type: ignore[arg-type]  # literals, lost in the loop
        n_queries, n_keys = len(queries[0]), len(keys[0])
        assert record.path == f"{stack}.layers.1.{name}"
        assert record.query_tokens == queries
        assert record.key_tokens == keys
        assert record.q.shape == record.z.shape == (BATCH, HEADS, n_queries, D_HEAD)
        assert record.k.shape == record.v.shape == (BATCH, HEADS, n_keys, D_HEAD)
        assert record.scores.shape == record.weights.shape == (BATCH, HEADS, n_queries, n_keys)
        assert record.mask.shape == (BATCH, 1, n_queries, n_keys)
        assert record.weights is trace[f"{record.path}.weights"]
        assert not record.weights.masked_select(~record.mask).any()
        expected = record.q @ record.k.transpose(-2, -1) / D_HEAD**0.5
        assert deviation(record.scores, expected) < 1e-6


@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_views_of_norms(norm_position: str) -> None:
    trace = labelled_trace(norm_position=norm_position, final_norm=True)
    records = trace.norms()
    decoder_layers = [
        f"decoder.layers.{i}.{sub}_norm"
        for i in range(3)
        for sub in ("self_attn", "cross_attn", "feed_forward")
    ]
    assert [record.path for record in records] == [
        *[f"encoder.layers.{i}.{sub}_norm" for i in range(2) for sub in ("self_attn", "feed_forward")],
        "encoder.final_norm",
        *decoder_layers,
        "decoder.final_norm",
    ]
    for record in records:
        n = SRC_LENGTH if record.path.startswith("encoder") else TGT_LENGTH
        assert record.input.shape == record.normalized.shape == record.result.shape == (BATCH, n, D_MODEL)
        assert record.mean is not None
        assert record.mean.shape == record.scale.shape == (BATCH, n, 1)
        assert deviation(record.normalized * record.scale + record.mean, record.input) < 1e-5
        assert trace.norm(record.path).result is record.result


def test_views_of_the_residual_stream() -> None:
    trace = labelled_trace()
    points = [(record.layer, record.name) for record in trace.residual("decoder")]
    names = ["resid_pre", "resid_mid", "resid_mid_cross", "resid_post"]
    assert points == [(layer, name) for layer in range(3) for name in names]
    stream = trace.residual("encoder")
    assert [record.name for record in stream] == ["resid_pre", "resid_mid", "resid_post"] * 2
    assert torch.equal(stream[0].value, trace["src_embedding.out"])
    assert torch.equal(stream[3].value, stream[2].value), "a layer begins where the one before ended"
    assert stream[0].path == "encoder.layers.0.resid_pre"


def test_depths_and_tokens() -> None:
    trace = labelled_trace()
    assert (trace.n_layers("encoder"), trace.n_layers("decoder")) == (2, 3)
    assert trace.tokens("encoder")[1][6] == "src 1 6"
    assert trace.tokens("decoder")[1][4] == "tgt 1 4"
    assert labelled_trace(**KINDS["encoder-only"]).n_layers("decoder") == 0


def test_what_a_run_did_not_have_is_a_key_error() -> None:
    trace = labelled_trace(**KINDS["decoder-only"])
    with pytest.raises(KeyError, match=r"decoder.layers.0.cross_attn"):
        trace.attention("decoder", 0, "cross_attn")
    with pytest.raises(KeyError, match=r"decoder.layers.3.self_attn"):
        trace.attention("decoder", 3, "self_attn")
    with pytest.raises(KeyError, match=r"decoder.final_norm"):
        trace.norm("decoder.final_norm")


def test_a_trace_does_not_change() -> None:
    model = tiny_transformer()
    recorder = Recorder()
    model(*batch(model.config), tap=recorder)
    trace = Trace(recorder.records, SRC_TOKENS, TGT_TOKENS)
    logits, n_records = trace["logits"].clone(), len(trace)
    model(random_ids(29, 2, 3), random_ids(31, 2, 4), tap=recorder)
    assert torch.equal(trace["logits"], logits)
    assert recorder.records["logits"].shape != logits.shape
    recorder.records.clear()
    assert len(trace) == n_records
    with pytest.raises(TypeError):
        trace["logits"] = logits  # type: ignore[index]  # the very thing that must fail


def test_records_hold_no_graph() -> None:
    model = tiny_transformer()
    assert model(*batch(model.config), tap=NO_TAP).requires_grad
    assert not any(tensor.requires_grad for tensor in trace_of(model, *batch(model.config)).values())


def test_keep_chooses_what_is_stored() -> None:
    model = tiny_transformer()
    recorder = Recorder(keep=lambda p: "weights" in p)
    edits = {"encoder.layers.0.resid_pre": torch.zeros_like}
    logits = model(*batch(model.config), tap=Editor(edits, recorder))
    assert len(recorder.records) == 2 + 2 * 3
    assert all(path.endswith(".weights") for path in recorder.records)
    assert deviation(logits, model(*batch(model.config))) > 1e-2, "an edit needs no record"


class Watch:
    """A tap that detects later writes to a tensor that went through it."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Tensor, int, Tensor]] = []

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        self.seen.append((name, tensor, tensor._version, tensor.detach().clone()))
        return tensor

    def at(self, scope: str | int) -> Watch:
        return self


@pytest.mark.parametrize("norm_position, training", [("pre", True), ("post", False)])
def test_no_tapped_tensor_is_written_into(norm_position: str, training: bool) -> None:
    model = tiny_transformer(norm_position=norm_position, final_norm=True).train(training)
    watch = Watch()
    model(*batch(model.config), tap=watch).sum().backward()
    assert len(watch.seen) > 100
    for name, tensor, version, value in watch.seen:
        assert tensor._version == version, name
        assert torch.equal(tensor, value), name


def test_an_edit_is_recorded_and_gone_on_with() -> None:
    model, src, tgt = with_pair(tiny_transformer())
    recorder = Recorder()
    editor = Editor(
        {"decoder.layers.1.cross_attn.weights": lambda w: torch.full_like(w, 1 / SRC_LENGTH)}, recorder
    )
    model(src, tgt, tap=editor)
    assert editor.reached == {"decoder.layers.1.cross_attn.weights"}
    edited, plain = Trace(recorder.records), trace_of(model, src, tgt)
    record = edited.attention("decoder", 1, "cross_attn")
    assert torch.equal(record.weights, torch.full_like(record.weights, 1 / SRC_LENGTH))
    assert deviation(record.z, record.v.mean(dim=-2, keepdim=True).expand_as(record.z)) < 1e-6
    paths = list(edited)
    before = paths[: paths.index("decoder.layers.1.cross_attn.weights")]
    assert all(torch.equal(edited[path], plain[path]) for path in before)
    assert deviation(edited["logits"], plain["logits"]) > 1e-3


def changed(tensor: Tensor) -> Tensor:
    """Unequal additions, as softmax and norms cancel equal ones; masks are inverted."""
    if tensor.dtype == torch.bool:
        return ~tensor
    return tensor + torch.linspace(0, 9, tensor.numel()).view_as(tensor)


def test_every_path_can_be_edited() -> None:
    """The model continues with whatever a tap returns."""
    model, src, tgt = with_pair(tiny_transformer())
    plain = trace_of(model, src, tgt)
    for path in plain:
        edited = model(src, tgt, tap=Editor({path: changed}))
        assert deviation(edited, plain["logits"]) > 1e-4, path


def test_one_run_patched_into_another() -> None:
    """With the memory of another sentence, the decoder's output is that for the other sentence."""
    model, src, tgt = with_pair(tiny_transformer())
    other = random_ids(29, *src.shape, seed=7)
    other[1, 4:] = 0
    memory = trace_of(model, other, tgt)["encoder.layers.1.resid_post"]
    patched = model(src, tgt, tap=Editor({"encoder.layers.1.resid_post": lambda _: memory}))
    assert deviation(patched, model(other, tgt)) < 1e-5


def test_an_edit_that_changes_the_shape_is_refused() -> None:
    model = tiny_transformer()
    editor = Editor({"encoder.layers.0.self_attn.weights": lambda w: w.mean(dim=1, keepdim=True)})
    with pytest.raises(
        ValueError,
        match=r"encoder.layers.0.self_attn.weights changed its shape from \(2, 3, 7, 7\) to \(2, 1, 7, 7\)",
    ):
        model(*batch(model.config), tap=editor)


@pytest.mark.parametrize(
    "path", ["src_embedding.positions", "encoder.layers.0.resid_pre", "encoder.layers.0.self_attn.mask"]
)
def test_an_edit_may_write_into_its_tensor(path: str) -> None:
    """Neither the model, nor earlier records, nor the mask of the next layer change."""
    model, src, tgt = with_pair(tiny_transformer())
    plain = trace_of(model, src, tgt)
    recorder = Recorder()
    model(src, tgt, tap=Editor({path: lambda x: x.zero_()}, recorder))
    assert not recorder.records[path].any()
    paths = list(plain)
    for earlier in paths[: paths.index(path)]:
        assert torch.equal(recorder.records[earlier], plain[earlier]), earlier
    assert torch.equal(
        recorder.records["encoder.layers.1.self_attn.mask"], plain["encoder.layers.1.self_attn.mask"]
    )
    assert torch.equal(model(src, tgt), tiny_transformer()(src, tgt))


def test_users_who_share_a_model_do_not_share_a_run() -> None:
    """Many threads, one model: each records its own sentence with its own edit, as if alone."""
    model = tiny_transformer()
    sources = [random_ids(29, 1, 3 + i, seed=i) for i in range(8)]
    targets = [random_ids(31, 1, 2 + i, seed=i) for i in range(8)]

    def run(user: int) -> dict[str, Tensor]:
        edits = {"encoder.layers.0.self_attn.z": torch.zeros_like} if user % 2 else {}
        recorder = Recorder()
        with torch.inference_mode():
            model(sources[user], targets[user], tap=Editor(edits, recorder))
        return recorder.records

    alone = [run(user) for user in range(8)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, list(range(8)) * 5))
    for user, records in zip(list(range(8)) * 5, together, strict=True):
        assert list(records) == list(alone[user])
        assert all(torch.equal(tensor, alone[user][path]) for path, tensor in records.items())


def test_no_tap_hands_everything_back() -> None:
    tensor = torch.zeros(1)
    assert NO_TAP.at("layers").at(3) is NO_TAP
    assert NO_TAP("q", tensor) is tensor


def test_a_model_keeps_nothing_of_a_run() -> None:
    """A run leaves no attribute, buffer or hook on the model."""
    model = Transformer(tiny_config(), torch.Generator().manual_seed(0)).eval()
    before = {name: dict(vars(module)) for name, module in model.named_modules()}
    trace_of(model, *batch(model.config))
    after = {name: dict(vars(module)) for name, module in model.named_modules()}
    for name, attributes in before.items():
        assert attributes.keys() == after[name].keys()
        assert all(after[name][key] is value for key, value in attributes.items()), name
        assert not after[name]["_forward_hooks"]
