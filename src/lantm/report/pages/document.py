"""The HTML skeleton of a page: style, script and data are embedded, and nothing is loaded from elsewhere.

Everything that comes from a run or a user (names, symbols, settings) is treated as data. It is written as JSON that
cannot end its element, the script displays it as text, and the page's content security policy allows only the script
and style of this package: no other script, and no network.
"""

import base64
import hashlib
import html
import importlib.resources
import json
from collections.abc import Sequence
from typing import Any

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="lantm">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page draws itself: it needs JavaScript, which it carries inside.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(title: str, styles: Sequence[str], scripts: Sequence[str], data: Any) -> str:
    """A complete page, from asset files by name and the data that its script displays."""
    style, script = joined(styles), '"use strict";\n(() => {\n' + joined(scripts) + "})();\n"
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(policy=policy, title=html.escape(title), style=style, script=script, data=json_in_html(data))


def json_in_html(data: Any) -> str:
    """JSON without markup characters: `<`, `>` and `&` are written as escapes.

    >>> json_in_html({"run": "</script>"})
    '{"run":"\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def joined(names: Sequence[str]) -> str:
    """The concatenated asset files of these names."""
    assets = importlib.resources.files("lantm.report.pages") / "assets"
    return "".join((assets / name).read_text(encoding="utf-8") for name in names)


def _digest(text: str) -> str:
    """The hash by which a content security policy allows a script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
