"""The progress file: what was saved is read back, and any other file is refused with a reason."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viz.pages.learn.lessons.files.progress import (
    FILE_KIND,
    MOST,
    Given,
    Progress,
    read_progress,
    write_progress,
)
from viz.saved_data import SavedDataError

NAMES = st.text(max_size=20)
ANSWERS = st.one_of(
    st.integers(-(10**9), 10**9),
    st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(0, 1000), min_size=2, max_size=2),
)


@given(
    st.dictionaries(st.tuples(NAMES, NAMES), st.builds(Given, NAMES, NAMES, ANSWERS), max_size=5),
    st.sets(st.tuples(NAMES, st.integers(0, 20)), max_size=5),
)
def test_what_is_written_is_read_again(
    answers: dict[tuple[str, str], Given], read: set[tuple[str, int]]
) -> None:
    progress = Progress(answers, read)
    assert read_progress(write_progress(progress)) == progress


def test_a_file_says_nothing_of_what_is_right() -> None:
    content = json.loads(write_progress(Progress({("one-head", "where"): Given("en-it", "I eat.", 2)})))
    assert content["answers"] == [
        {"lesson": "one-head", "question": "where", "model": "en-it", "sentence": "I eat.", "answer": 2}
    ]


def test_of_two_answers_the_files_counts() -> None:
    mine = Progress({("a", "b"): Given("m", "s", 1), ("a", "c"): Given("m", "s", 1)}, {("a", 0)})
    mine.take(Progress({("a", "b"): Given("m", "s", 2)}, {("a", 1)}))
    assert mine == Progress(
        {("a", "b"): Given("m", "s", 2), ("a", "c"): Given("m", "s", 1)}, {("a", 0), ("a", 1)}
    )


ENTRY = {"lesson": "a", "question": "b", "model": "m", "sentence": "s", "answer": 1}


@pytest.mark.parametrize(
    "content, why",
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "holds no answers"),
        (json.dumps({"kind": "headlight scenes"}).encode(), "holds no answers"),
        (json.dumps(FILE_KIND.head | {"version": 2}).encode(), "another version"),
        (b" " * (FILE_KIND.largest + 1), "1,000,001 bytes"),
        *(
            (json.dumps(FILE_KIND.head | {"answers": [], "read": []} | changed).encode(), why)
            for changed, why in (
                ({"answers": None}, "'answers'"),
                ({"answers": [1]}, "'answers'"),
                ({"answers": [ENTRY] * (MOST + 1)}, "at most 2,000"),
                ({"answers": [ENTRY | {"lesson": 1}]}, "'lesson'"),
                ({"answers": [ENTRY | {"sentence": "x" * 10_001}]}, "'sentence'"),
                ({"answers": [ENTRY | {"answer": True}]}, "'answer'"),
                ({"answers": [ENTRY | {"answer": "1"}]}, "'answer'"),
                ({"answers": [ENTRY | {"answer": [1, 2, 3]}]}, "'answer'"),
                ({"read": [["a", "b"]]}, "'read'"),
                ({"read": [["a"]]}, "'read'"),
            )
        ),
    ],
)
def test_what_is_no_such_file_is_refused(content: bytes, why: str) -> None:
    with pytest.raises(SavedDataError, match=why):
        read_progress(content)
