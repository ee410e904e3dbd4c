"""JSON that can stand in a script block of a page: no character of it can end the block."""

from __future__ import annotations

import json

ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}
"""Characters that could end a script block, as JSON writes them; those beyond ASCII are escaped anyway."""


class ScriptEncoder(json.JSONEncoder):
    """Writes JSON for script blocks: ``json.dumps(content, cls=ScriptEncoder)``."""

    def encode(self, o: object) -> str:
        """Return a value as JSON."""
        return super().encode(o).translate(ESCAPES)
