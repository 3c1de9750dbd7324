"""Bytes travel through a page's text unchanged."""

import numpy as np
from engine import in_node, needs_node

from lantm.report.pages.binary import compressed
from lantm.report.pages.document import json_in_html

pytestmark = needs_node


def test_bytes_come_back() -> None:
    random = np.random.default_rng(0)
    cases = [random.integers(0, 256, size, np.uint8).tobytes() for size in (0, 1, 2, 3, 4, 5, 1000, 70_000)]
    texts = [compressed(case) for case in cases]
    assert all(json_in_html(text) == f'"{text}"' for text in texts), "nothing in it has to be escaped"
    body = "return Promise.all(given.map(async (text) => Array.from(new Uint8Array(await inflated(text)))));"
    assert [bytes(found) for found in in_node(body, texts)] == cases
