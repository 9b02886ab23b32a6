"""A file of scenes, as the browser writes it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from viz.scenes import FILE_KIND, Scene


def scene_file(scenes: Sequence[Scene]) -> bytes:
    content = FILE_KIND.head | {"scenes": [scene.data() for scene in scenes]}
    return json.dumps(content, ensure_ascii=False, indent=1).encode()
