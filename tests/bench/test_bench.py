"""The benchmark runs part by part; the parts without a browser run here once, at the smallest size."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
import torch

from bench import runner
from bench.__main__ import main
from bench.browser.watch import GRID, HEAD, Answer, painted
from bench.measurement import Bytes, Painted, PerSecond, Ratio, Seconds, in_turn, painted_ratio, ratio
from bench.parts.computing import measure_computing
from bench.parts.training import MarianTranslator, config_of, random_batches, random_pairs
from bench.peers.torch_transformer import TorchTranslator
from bench.runner import PARTS, Part, load, run, table
from bench.sentences import N_HEADS, N_LAYERS, random_model, sentence
from bench.setting import Setting
from transformer.data.encoded import epoch_batches, write_corpus
from transformer.model.transformer import Transformer

IN_BROWSER = {"first_page", "crowd", "app", "notebook"}
"""Parts that tests/browser/test_bench.py runs."""


@dataclass(frozen=True)
class Row:
    name: str
    sentence_to_trace: Seconds
    d_model: int = 8
    faster: Ratio | None = None


class Stub(ModuleType):
    """A part with rows given in advance, or an error."""

    def __init__(self, rows: Sequence[Row] | Exception) -> None:
        super().__init__("stub", "What is measured.\n\nDetails.")
        self.rows = rows

    def measure(self, setting: Setting) -> Sequence[Row]:
        assert isinstance(setting, Setting)
        if isinstance(self.rows, Exception):
            raise self.rows
        return self.rows


@pytest.fixture
def stubs(monkeypatch: pytest.MonkeyPatch) -> dict[str, Stub]:
    """Parts by name, in place of those of bench.parts."""
    found: dict[str, Stub] = {}
    monkeypatch.setattr(runner, "load", lambda name: cast(Part, found[name]))
    return found


@pytest.fixture(scope="module")
def rows() -> dict[str, list[Any]]:
    """The rows of all parts that need no browser."""
    with Setting(smallest=True) as setting:
        return {name: [*load(name).measure(setting)] for name in PARTS if name not in IN_BROWSER}


def test_a_part_that_fails_is_named_and_the_others_continue(
    stubs: dict[str, Stub], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stubs |= {"first": Stub(ValueError("no picture")), "second": Stub([Row("ours", Seconds(0.25))])}
    results = tmp_path / "build" / "bench.json"
    with Setting() as setting:
        assert run(["first", "second"], setting, results) == ["first"]
    printed = capsys.readouterr().out
    assert "first failed: ValueError: no picture" in printed
    assert "250 ms" in printed.split("What is measured\n")[1]
    assert list(json.loads(results.read_text())) == ["second"]


def test_results_are_merged_by_part_with_date_and_machine(stubs: dict[str, Stub], tmp_path: Path) -> None:
    results = tmp_path / "bench.json"
    with Setting() as setting:
        for seconds in (1.0, 2.0):
            stubs |= {name: Stub([Row(name, Seconds(seconds))]) for name in ("first", "second")}
            run(["first", "second"] if seconds == 1 else ["second"], setting, results)
    saved = json.loads(results.read_text())
    assert [saved[name]["rows"][0]["sentence_to_trace"] for name in ("first", "second")] == [1.0, 2.0]
    assert set(saved["second"]) == {"measured", "machine", "versions", "rows"}
    assert saved["second"]["machine"]["cores"] > 0
    assert torch.__version__.startswith(saved["second"]["versions"]["torch"])


def test_unknown_parts_are_refused_with_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        main(["app,clapp"])
    assert refused.value.code == 2
    assert f"no such part: clapp. The parts are {', '.join(PARTS)}." in capsys.readouterr().err


def test_the_exit_status_tells_of_failed_parts(
    stubs: dict[str, Stub],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("bench.__main__.ROOT", tmp_path)
    monkeypatch.setattr("bench.__main__.RESULTS", tmp_path / "bench.json")
    stubs |= {"app": Stub([Row("ours", Seconds(1))]), "crowd": Stub(OSError("no /proc"))}
    assert main(["app"]) == 0
    assert main(["crowd,app"]) == 1
    assert capsys.readouterr().out.endswith("Failed: crowd\n")


def test_every_part_has_a_module() -> None:
    modules = {path.stem for path in Path(runner.__file__).with_name("parts").glob("[a-z]*.py")}
    assert modules == set(PARTS) > IN_BROWSER


@pytest.mark.parametrize("name", [name for name in PARTS if name not in IN_BROWSER])
def test_a_part_that_computes_has_a_table(name: str, rows: dict[str, list[Any]]) -> None:
    for row in rows[name]:
        times = [value for value in vars(row).values() if isinstance(value, Seconds | PerSecond | Bytes)]
        assert times
        assert min(times) > 0
    assert len(table(name, rows[name]).splitlines()) == 3 + len(rows[name])


def test_equal_work_is_compared(rows: dict[str, list[Any]]) -> None:
    assert [row.same_targets for row in rows["decoding"]] == [3, 3]
    [recorded] = rows["recording"]
    assert recorded.difference < 1e-5
    assert recorded.tensors > recorded.their_tensors == 12
    ours, theirs = rows["opening"]
    assert (ours.opener, theirs.opener) == ("Headlight", "transformers")
    for row in (ours, theirs):
        assert row.opened < row.one_sentence_run < row.whole_process
        assert row.memory_before < row.at_its_peak
    config = config_of("toy", d_model=32)
    sizes = [
        sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
        for model in (Transformer(config), TorchTranslator(config), MarianTranslator(config))
    ]
    assert sizes[0] == sizes[1]
    assert sizes[2] == pytest.approx(sizes[0], rel=0.02), "it has no final norms, and learns no bias there"


def test_the_viewer_begins_with_what_is_in_sight(rows: dict[str, list[Any]]) -> None:
    [short] = rows["computing"]
    # Every weight of the three attentions in float32, and little else.
    assert 1 < short.viewer / (3 * N_LAYERS * N_HEADS * 16 * 16 * 4) < 1.1
    assert measure_computing(65, 32, rounds=1).viewer < short.viewer * 3


def test_a_sentence_has_the_length_that_is_measured() -> None:
    loaded = random_model(32)
    assert len(loaded.source.encode(sentence(16, 1)).ids) == 15, "and <eos>"
    assert loaded.source.encode(sentence(16, 1)).unknown == [False] * 15
    config = loaded.model.config
    assert (config.n_encoder_layers, config.n_decoder_layers, config.n_heads) == (N_LAYERS, N_LAYERS, N_HEADS)


def test_random_batches_are_as_full_as_bucketed_ones(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, random_pairs(500))
    longest = corpus.lengths().max(axis=0)
    groups = random_batches(corpus, tokens=300, seed=1)
    assert sorted(index for group in groups for index in group.tolist()) == list(range(500))
    assert all(longest[group].max() * len(group) <= 300 for group in groups)
    assert len(groups) > len(epoch_batches(corpus, tokens=300, seed=1, epoch=0))


@pytest.mark.parametrize("rounds, counted", [(3, [1, 2]), (1, [0])])
def test_ours_and_its_peers_take_turns(rounds: int, counted: list[int]) -> None:
    called: list[str] = []

    def call(name: str) -> int:
        called.append(name)
        return called.count(name) - 1

    ours, theirs = in_turn(lambda: call("a"), [lambda: call("b"), lambda: call("c")], rounds)
    assert "".join(called) == "abc" * rounds
    assert (ours, theirs) == (counted, [counted, counted])


def test_a_ratio_is_of_the_same_round() -> None:
    # A busy machine slows both in the third round.
    found = ratio(theirs=[2.0, 4.0, 30.0, 2.0, 2.0], ours=[1.0, 1.0, 10.0, 1.0, 2.0])
    assert found == Ratio(median=2.0, low=2.0, high=3.0)
    assert str(found) == "2.00 (2.00 to 3.00)"
    seen, unseen = Painted(Seconds(3), Bytes(0)), Painted(None, Bytes(0), "not painted after 120 s")
    assert painted_ratio([seen], [seen]) == Ratio(1, 1, 1)
    assert painted_ratio([unseen], [seen]) is None


@pytest.mark.parametrize("first", [GRID, HEAD])
def test_a_picture_is_painted_when_it_last_changes(first: str) -> None:
    second = HEAD if first == GRID else GRID
    paints = [(first, 110.0), (first, 300.0), (second, 500.0), ("head marks", 900.0)]
    answer = Answer(acted=100.0, heard=101.0, paints=paints, received=[(200.0, 7), (400.0, 5), (600.0, 3)])
    assert painted(answer, (GRID, HEAD)) == Painted(Seconds(0.4), Bytes(12))


def test_figures_are_written_with_their_units() -> None:
    painted_late = Painted(None, Bytes(572_000_000), "not painted after 120 s")
    ours = [Row("ours", Seconds(0.9), 256, Ratio(20.4, 11.6, 31)), Row("theirs", Seconds(1.25))]
    assert table("Times", ours).splitlines() == [
        "Times",
        "-----",
        "  name  sentence to trace  d_model         faster",
        "  ours             900 ms      256  20 (12 to 31)",
        "theirs              1.2 s        8              -",
    ]
    assert str(painted_late) == "not painted after 120 s"
    assert str(Painted(Seconds(0.02), Bytes(450_000))) == "20 ms, 450 kB"
    assert str(Bytes(2_450_000)) == "2.5 MB"
    assert str(PerSecond(12_345.6)) == "12,346/s"
