"""What is in an SVG file: marks and lines by the names of their groups, in the coordinates of the file."""

import pathlib
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

SVG = "{http://www.w3.org/2000/svg}"


class Drawing:
    """An SVG file that matplotlib wrote."""

    def __init__(self, path: pathlib.Path):
        parser = ET.XMLParser(target=ET.TreeBuilder(insert_comments=True))
        self._root = ET.parse(path, parser).getroot()
        self._groups = {group.get("id"): group for group in self._root.iter(f"{SVG}g") if group.get("id")}

    def names(self, pattern: str) -> list[str]:
        return [name for name in self._groups if re.fullmatch(pattern, name)]

    def marks(self, name: str) -> np.ndarray:
        """Where the marks of a scatter are, in their order; a few are written as outlines, around their place."""
        group = self._groups[name]
        places = [[float(use.get("x")), float(use.get("y"))] for use in group.iter(f"{SVG}use")]
        defined = {path for definitions in group.iter(f"{SVG}defs") for path in definitions.iter(f"{SVG}path")}
        for path in group.iter(f"{SVG}path"):
            if path not in defined:
                corners = np.array(re.findall(r"-?[\d.]+", path.get("d")), float).reshape(-1, 2)
                places.append((corners.min(axis=0) + corners.max(axis=0)) / 2)
        return np.array(places).reshape(-1, 2)

    def fills(self, name: str) -> list[str]:
        """The fill colours of the marks."""
        return [re.search(r"fill: (#\w+)", use.get("style"))[1] for use in self._groups[name].iter(f"{SVG}use")]

    def line(self, name: str) -> np.ndarray:
        """The corners of a line, in their order."""
        path = next(self._groups[name].iter(f"{SVG}path")).get("d")
        return np.array(re.findall(r"[ML] (\S+) (\S+)", path), float)

    def text(self, name: str) -> str:
        """The text that a group of glyphs shows."""
        comment = next(node for node in self._groups[name].iter() if node.tag is ET.Comment)
        return comment.text[1:-1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def assert_same_picture(found: np.ndarray, expected: np.ndarray, equal: bool = True) -> None:
    """Points in a file are the expected ones up to a shift and a scale of each axis; y points down there."""
    assert len(found) == len(expected)
    scales = []
    for axis, sign in ((0, 1), (1, -1)):
        spread = np.ptp(expected[:, axis])
        if spread < 1e-9:
            assert np.ptp(found[:, axis]) < 1e-3
            continue
        scale, shift = np.polyfit(expected[:, axis], found[:, axis], 1)
        assert sign * scale > 0
        np.testing.assert_allclose(found[:, axis], scale * expected[:, axis] + shift, atol=0.01)
        scales.append(abs(scale))
    if equal and len(scales) == 2:
        assert scales[0] / scales[1] == pytest.approx(1, rel=1e-3), "equal axes"
