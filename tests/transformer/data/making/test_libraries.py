"""Without its libraries the command says how to install them."""

from __future__ import annotations

import pytest

from transformer.data.making.libraries import MissingLibraryError, load_libraries


def test_what_is_missing_is_named_with_the_way_to_install_it() -> None:
    with pytest.raises(MissingLibraryError, match=r"wordfreq.*pip install -r requirements-data") as caught:
        load_libraries(lambda name: None if name == "wordfreq" else name)
    assert "lemminflect" not in str(caught.value)
