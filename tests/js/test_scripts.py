"""The views' scripts: their own tests, whether the built files are current, and agreement with Python."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from scripts.node import ROOT, STAMP
from tests.support.missing import missing
from transformer.decoding.sampling import sampling_distribution
from viz.components.next_tokens import TEMPERATURES, TOP_KS, TOP_PS
from viz.components.shared.frame import pack_frame

HERE = Path(__file__).parent

READ_FRAME = """
import { readFrame } from "./viz/components/shared/frame.js";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const data = readFrame(new Uint8Array(Buffer.concat(chunks)));
console.log(JSON.stringify(data, (_, value) => (ArrayBuffer.isView(value) ? [...value].map(String) : value)));
"""
RESHAPE = """
import { samplingDistribution } from "./viz/components/next_tokens/distribution.js";
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { logits, settings } = JSON.parse(Buffer.concat(chunks));
console.log(JSON.stringify(settings.map((setting) => samplingDistribution(logits, setting).probabilities)));
"""


@pytest.fixture(scope="module")
def node() -> str:
    path = shutil.which("node")
    if path is None:
        missing("no node on PATH: install it (Debian and Ubuntu: apt-get install nodejs)")
    return path


def run(*command: str | Path, given: bytes = b"") -> str:
    """Run a command in the repository and return its output; fail if the command fails."""
    done = subprocess.run(command, cwd=ROOT, input=given, capture_output=True, timeout=300, check=False)
    printed = done.stdout.decode()
    assert done.returncode == 0, printed + done.stderr.decode()
    return printed


def test_the_pure_parts_do_what_their_tests_say(node: str) -> None:
    run(node, "--test", *sorted(HERE.glob("*.test.js")))


def test_what_is_built_was_made_of_these_sources() -> None:
    """Checked without the build tools, by the checksums that they wrote."""
    sums = (ROOT / "headlight" / "browser" / "built.sha256").read_text(encoding="utf-8")
    told = {path: digest for digest, path in (line.split("  ", 1) for line in sums.splitlines())}
    present = [*(ROOT / "headlight" / "browser").glob("*.js")]
    present += [path for path in (ROOT / "viz" / "components").rglob("*") if path.suffix in (".js", ".css")]
    found = {path.relative_to(ROOT).as_posix(): sha256(path.read_bytes()).hexdigest() for path in present}
    assert found == told, "run `make views`"


def test_the_sources_make_what_is_built(node: str) -> None:
    if not STAMP.exists():
        pytest.skip("the tools that build the scripts are not installed: make check installs them")
    run(node, "scripts/bundle.js", "--check")


def test_the_browser_reads_what_python_packs(node: str) -> None:
    data = {"words": ["<b>", "\ud800", "שלום", "\u2028", '"]}'], "none": None}
    arrays: dict[str, NDArray[Any]] = {
        "bytes": np.arange(5, dtype=np.uint8),
        "levels": np.array([[1, 65535]], np.uint16),
        "starts": np.array([70_000], np.uint32),
        "numbers": np.array([[0.5, -np.inf], [np.nan, -3]], np.float32),
        "empty": np.zeros(0, np.float32),
    }
    read = json.loads(run(node, "--input-type=module", "-e", READ_FRAME, given=pack_frame(data, arrays)))
    assert read == data | {
        "bytes": ["0", "1", "2", "3", "4"],
        "levels": ["1", "65535"],
        "starts": ["70000"],
        "numbers": ["0.5", "-Infinity", "NaN", "-3"],
        "empty": [],
    }


def test_the_sliders_reshape_as_the_sampler_does(node: str) -> None:
    logits = -np.sort(-np.random.default_rng(2).normal(0, 3, 997)).astype(np.float32)
    settings = [
        {"temperature": temperature, "top_k": top_k, "top_p": top_p}
        for temperature, top_k, top_p in product(TEMPERATURES[::7], TOP_KS[::4], TOP_PS[::3])
    ]
    given = json.dumps({"logits": logits.tolist(), "settings": settings}).encode()
    found = json.loads(run(node, "--input-type=module", "-e", RESHAPE, given=given))
    for setting, probabilities in zip(settings, found, strict=True):
        expected = sampling_distribution(torch.from_numpy(logits), **setting).numpy()
        np.testing.assert_allclose(probabilities, expected, atol=2e-6, err_msg=str(setting))
