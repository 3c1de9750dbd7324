"""What a page carries is what was recorded."""

import dataclasses

import acting
import numpy as np
import pytest
from pages import page_data

from lantm.geometry import make_geometry
from lantm.report.pages.document import json_in_html, page
from lantm.report.pages.packed_recording import share


def test_the_arrays_come_back() -> None:
    recording = acting.copying(6, wrong=(2,), read_gap=1.5, step_gate=0.25)
    heads = recording.heads
    faint = np.linspace(0, 1, heads.read_weights.size).reshape(heads.read_weights.shape) ** 4
    heads = dataclasses.replace(heads, read_weights=faint)
    packed = acting.pack(dataclasses.replace(recording, heads=heads), acting.COPY, acting.PLANE)
    assert (packed["steps"], packed["answer"], packed["reads"], packed["writes"], packed["slots"]) == (14, 7, 1, 1, 7)
    assert packed["mistakes"] == [2]
    assert packed["firstMistake"] == 2
    assert packed["inputs"] == ["<s>", *'!"#$%&', *["</s>"] * 7]
    assert packed["predicted"] == [*'!"~$%&', "∎"]

    data = acting.unpacked(packed["data"])
    keys = np.frombuffer(data, "<f4", 14 * 2 * 2).reshape(14, 2, 2)
    np.testing.assert_array_equal(keys, heads.keys.astype("f4"))
    addresses = np.frombuffer(data, "<f4", 7 * 2, 14 * 2 * 2 * 4).reshape(7, 2)
    np.testing.assert_array_equal(addresses, heads.memories.addresses)
    small = np.frombuffer(data, np.uint8, offset=(14 * 2 * 2 + 7 * 2) * 4) / 255
    gates, strengths, roots = np.split(small, [14 * 2 * 2, 14 * 2 * 2 + 7])
    np.testing.assert_allclose(gates.reshape(14, 2, 2)[..., 1], heads.action_gates, atol=0.002)
    np.testing.assert_allclose(gates.reshape(14, 2, 2)[..., 0], heads.key_gates, atol=0.002)
    np.testing.assert_array_equal(strengths, 1)
    np.testing.assert_allclose(roots.reshape(faint.shape) ** 2, faint, atol=0.004)
    assert np.sum((roots > 0) & (roots**2 < 0.004)) > 5, "faint weights are not lost"
    np.testing.assert_array_equal(roots.reshape(faint.shape)[faint < 0.001], 0)


def test_what_heads_settle_on_comes_back() -> None:
    """Between the coordinates and the bytes, of machines that settle only."""
    recording = acting.settling(acting.copying(6), until=10)
    packed = acting.pack(recording, acting.COPY, acting.PLANE)
    assert packed["settles"]
    data, before = acting.unpacked(packed["data"]), (14 * 2 * 2 + 7 * 2) * 4
    found = np.frombuffer(data, "<i4", 14, before)
    assert found.tolist() == [-1, 0, 1, 1, 1, 1, 1, 2, 3, 4, -1, -1, -1, -1]
    plain = acting.scene(6)
    assert not plain["settles"]
    assert data[:before] + data[before + 14 * 4 :] == acting.unpacked(plain["data"])


def test_what_is_not_a_number_is_nothing() -> None:
    recording = acting.copying(3)
    heads = dataclasses.replace(recording.heads, key_gates=np.full((8, 2), np.nan))
    packed = acting.pack(dataclasses.replace(recording, heads=heads), acting.COPY, acting.PLANE)
    small = np.frombuffer(acting.unpacked(packed["data"]), np.uint8, offset=(8 * 2 * 2 + 4 * 2) * 4)
    np.testing.assert_array_equal(small[: 8 * 2 * 2].reshape(8, 2, 2)[..., 0], 0)


def test_read_weights_that_were_not_recorded() -> None:
    recording = acting.copying(3)
    heads = dataclasses.replace(recording.heads, read_weights=None)
    packed = acting.pack(dataclasses.replace(recording, heads=heads), acting.COPY, acting.PLANE)
    assert not packed["weighed"]
    assert acting.pack(recording, acting.COPY, acting.PLANE)["weighed"]
    assert len(acting.unpacked(packed["data"])) == len(acting.unpacked(acting.scene(3)["data"]))


def test_a_page_is_whole() -> None:
    text = page("a <title>", ["base.css"], ["base.js"], {"name": "</script><script>alert(1)</script>"})
    assert "<title>a &lt;title&gt;</title>" in text
    assert text.count("</script>") == 2
    assert "alert(1)" in text
    assert "http://" not in text
    assert "https://" not in text
    assert page_data(text) == {"name": "</script><script>alert(1)</script>"}


def test_json_has_no_word_for_infinity() -> None:
    with pytest.raises(ValueError, match="JSON"):
        json_in_html({"loss": float("nan")})


def test_keys_are_drawn_as_their_geometry_is() -> None:
    """A key of one number over time; one of four along the directions in which they spread most."""
    recording = acting.copying(6)
    heads, memories = recording.heads, recording.heads.memories

    def packed(size: int) -> tuple[dict, np.ndarray, np.ndarray]:
        scene = acting.pack(acting.elsewhere(recording, size), acting.COPY, make_geometry(f"translation-{size}"))
        places = np.frombuffer(acting.unpacked(scene["data"]), "<f4", 14 * 2 * 2 + 7 * 2).reshape(-1, 2)
        return scene["space"], places[:28].reshape(14, 2, 2), places[28:]

    space, keys, addresses = packed(1)
    assert space == {"outline": [], "equal": False, "labels": ["step", "key"], "note": ""}
    np.testing.assert_array_equal(keys[:, 1, 0], np.arange(14))
    np.testing.assert_array_equal(keys[:, :, 1], heads.keys[..., 0])
    np.testing.assert_array_equal(addresses, np.stack([np.arange(7), memories.addresses[:, 0]], axis=-1))
    space, keys, addresses = packed(4)
    assert space["equal"]
    assert space["note"].startswith("4 dimensions")
    np.testing.assert_allclose(np.diff(addresses[:, 0]), 1, rtol=1e-5)


def test_what_is_drawn_besides_keys() -> None:
    """The fixed point of rotations."""
    scene = acting.pack(acting.copying(4), acting.COPY, make_geometry("rotation"))
    assert len(scene["space"]["outline"]) == 2
    assert "origin" in scene["space"]["note"]


def test_a_key_space_is_written_once() -> None:
    """In problems and in training alike; machines of other spaces keep theirs."""
    recording = acting.copying(4)
    sphere, plane = acting.elsewhere(recording, 3), recording
    round_scene = acting.pack(sphere, acting.COPY, make_geometry("sphere"))
    machines = [
        {
            "name": "sphere",
            "problems": [
                {"name": "one", "scene": round_scene},
                {"name": "while training", "training": [{"epoch": epoch, "scene": round_scene} for epoch in range(60)]},
            ],
        },
        acting.machine("plane", acting.pack(plane, acting.COPY, acting.PLANE)),
        acting.machine("none", acting.pack(dataclasses.replace(plane, heads=None), acting.COPY, None)),
    ]
    numbered, spaces = share(machines, "space")
    assert len(spaces) == 2
    assert spaces[0] == round_scene["space"]
    assert numbered[0]["problems"][0]["scene"] == round_scene | {"space": 0}
    assert {recorded["scene"]["space"] for recorded in numbered[0]["problems"][1]["training"]} == {0}
    assert numbered[1]["problems"][0]["scene"]["space"] == 1
    assert numbered[2]["problems"][0]["scene"]["space"] is None
    assert machines[1]["problems"][0]["scene"]["space"] == spaces[1], "what was given stays as it was"
