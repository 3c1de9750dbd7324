"""What pages carry, for tests to look at."""

import json
import re
from typing import Any


def page_data(text: str) -> Any:
    """The data that a page carries."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])
