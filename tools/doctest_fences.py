"""For the reference: examples in docstrings are shown as code, which Markdown would take for quotations."""

import re
from typing import Any

import griffe


class DoctestFences(griffe.Extension):
    """Puts every example of a docstring between fences, with its output."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = re.sub(
                r"^( *)>>> .*(?:\n(?! *$).*)*",
                lambda found: _fenced(found[0], found[1]),
                obj.docstring.value,
                flags=re.MULTILINE,
            )


def _fenced(example: str, indent: str) -> str:
    return f"{indent}```pycon\n{example}\n{indent}```"
