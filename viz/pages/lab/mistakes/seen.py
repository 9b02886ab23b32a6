"""Where mistakes were published: issues and pull requests of public repositories."""

from __future__ import annotations

from viz.pages.lab.mistakes.mistake import Seen


def issue(repository: str, number: int, said: str = "") -> Seen:
    """Refer to an issue or pull request on GitHub, which serves both at the same address.

    Args:
        repository: owner and name.
        number: number of the issue or pull request.
        said: the report in our own words; empty if it has not been read.
    """
    return Seen(repository, str(number), f"https://github.com/{repository}/issues/{number}", said)
