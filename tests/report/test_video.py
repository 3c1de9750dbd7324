"""Videos: as many frames as epochs, each with what was recorded."""

import dataclasses
import os
import pathlib
import subprocess
import sys
import types
from collections.abc import Iterator

import numpy as np
import pytest
from acting import COPY, PLANE, TEXT, copying, reading, settling
from PIL import Image

from lantm.errors import LantmError
from lantm.report.figures.canvas import style
from lantm.report.figures.scene import Scene
from lantm.report.figures.video import Reel, _Screen, frames, steady, write_gif, write_mp4
from lantm.report.projection import projection

LENGTH = 12


def reel(epochs: int = 5, **changes) -> Reel:
    """A machine that makes one mistake less in every epoch."""
    settings = {
        "title": "a machine learns",
        "task": COPY,
        "geometry": PLANE,
        "epochs": list(range(1, epochs + 1)),
        "recordings": [copying(LENGTH, tuple(range(epochs - at - 1))) for at in range(epochs)],
        "losses": {epoch: 2.0**-epoch for epoch in range(1, epochs + 1)},
        "tests": {2: {"1x": "50% coarse"}, 4: {"1x": "70% coarse", "2x": "1% coarse"}},
    }
    return Reel(**settings | changes)


def black_in_the_last_row(frame: np.ndarray) -> float:
    """How much of the strip of differences is black: its middle row, right of its name."""
    height, width, _ = frame.shape
    row = frame[round(height * (1 - 0.045 - 0.13 / 6)), round(0.131 * width) : round(0.974 * width)]
    return float((row.max(axis=-1) < 60).mean())


def test_a_frame_an_epoch_shows_its_mistakes() -> None:
    with style():
        pictures = list(frames(reel()))
    assert len(pictures) == 5
    assert {picture.shape for picture in pictures} == {(480, 720, 3)}
    found = [black_in_the_last_row(picture) for picture in pictures]
    np.testing.assert_allclose(found, [4 / 13, 3 / 13, 2 / 13, 1 / 13, 0], atol=0.02)


def test_the_latest_test_is_told() -> None:
    """And the loss of the epoch; of a text, words are counted."""
    with style():
        screen = _Screen(reel())
        told = []
        for at in range(5):
            screen.frame(at)
            told.append([text.get_text() for text in screen._words if text.get_text()])
    assert told[0] == ["epoch 1", "loss 0.5000", "not tested yet", "here: 4 of 13 symbols wrong"]
    assert told[2] == ["epoch 3", "loss 0.1250", "1x: 50% coarse", "here: 2 of 13 symbols wrong"]
    assert told[4][2:] == ["1x: 70% coarse", "2x: 1% coarse", "here: none of 13 symbols wrong"]
    words = [reading("the head reads its key", wrong) for wrong in ((0, 2), ())]
    with style():
        screen = _Screen(reel(2, task=TEXT, recordings=words, tests={1: {"validation": "perplexity 9.0"}}))
        screen.frame(0)
    assert [text.get_text() for text in screen._words][2:4] == [
        "validation: perplexity 9.0",
        "here: 2 of 4 words wrong",
    ]


def test_heads_that_move_are_seen_to_move() -> None:
    with style():
        still, moved = reel(2, recordings=[copying(LENGTH)] * 2), copying(LENGTH)
        moved.heads.keys[moved.answer_start :, 0, 1] += 3
        other = list(frames(dataclasses.replace(still, recordings=[copying(LENGTH), moved])))
        pictures = list(frames(still))
    space = (slice(50, 380), slice(20, 430))
    blue = [int((np.abs(p[space] - np.array([0, 114, 178.0])).sum(axis=-1) < 40).sum()) for p in [*pictures, *other]]
    assert blue[0] == blue[1] > 20
    assert (pictures[0][space] == pictures[1][space]).all()
    assert (other[0][space] != other[1][space]).any()


def test_what_heads_settle_on_is_ringed() -> None:
    """And said; the machine that does not settle has a picture without."""
    plain = reel(2, recordings=[copying(LENGTH)] * 2)
    until = copying(LENGTH).answer_start
    settles = reel(2, recordings=[settling(copying(LENGTH), until), settling(copying(LENGTH))])
    with style():
        without, (few, many) = next(frames(plain)), list(frames(settles))
    space = (slice(50, 380), slice(20, 430))
    assert (without[space] == few[space]).all(), "while it answers, it settles on nothing"
    assert (few[space] != many[space]).any()
    assert (without[:50] != few[:50]).any(), "the words above"


def test_answers_may_differ_in_size() -> None:
    recordings = [copying(LENGTH, (0,)), copying(5, (0,))]
    with style():
        long, short = frames(reel(2, recordings=recordings))
    assert black_in_the_last_row(long) == pytest.approx(1 / 13, abs=0.02)
    assert black_in_the_last_row(short) == pytest.approx(1 / 13, abs=0.02), "a symbol is as wide as before"


def test_losses_may_be_missing_and_there_may_be_no_memory() -> None:
    lstm = [dataclasses.replace(recording, heads=None) for recording in reel().recordings]
    with style():
        pictures = list(frames(reel(recordings=lstm, geometry=None, losses={}, tests={})))
    assert black_in_the_last_row(pictures[0]) == pytest.approx(4 / 13, abs=0.02)
    assert (pictures[0][60:380, 20:430] == 255).all(), "no key space"


def test_a_gif(tmp_path: pathlib.Path) -> None:
    told: list[None] = []
    with style():
        write_gif(tmp_path / "out" / "film.gif", reel(), 20, lambda: told.append(None))
    assert len(told) == 5
    with Image.open(tmp_path / "out" / "film.gif") as film:
        assert (film.n_frames, film.size) == (5, (720, 480))
        durations, found = [], []
        for at in range(5):
            film.seek(at)
            durations.append(film.info["duration"])
            found.append(black_in_the_last_row(np.asarray(film.convert("RGB"))))
    assert durations == [50, 50, 50, 50, 2000]
    np.testing.assert_allclose(found, [4 / 13, 3 / 13, 2 / 13, 1 / 13, 0], atol=0.02)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["film.gif"]


@pytest.mark.filterwarnings("ignore:os.fork")  # of this test's own reading
def test_an_mp4(tmp_path: pathlib.Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    with style():
        write_mp4(tmp_path / "out" / "film.mp4", reel(), 10, lambda: None)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["film.mp4"]
    film = str(tmp_path / "out" / "film.mp4")
    count, seconds = ffmpeg.count_frames_and_secs(film)
    assert count == 5 + 20, "the last frame is held for two seconds"
    assert seconds == pytest.approx(2.5)
    raw = [ffmpeg.get_ffmpeg_exe(), "-v", "error", "-i", film, "-frames:v", "1", "-f", "rawvideo"]
    first = subprocess.run([*raw, "-pix_fmt", "rgb24", "-"], capture_output=True, check=True).stdout
    assert black_in_the_last_row(np.frombuffer(first, np.uint8).reshape(480, 720, 3)) == pytest.approx(4 / 13, abs=0.05)


def test_an_mp4_that_is_interrupted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program that writes it ends before its unfinished file is removed."""
    there = []

    def write_frames(path: str, *_: object, **__: object) -> Iterator[None]:
        pathlib.Path(path).touch()
        try:
            while True:
                yield
        finally:
            there.append(pathlib.Path(path).exists())

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", types.SimpleNamespace(write_frames=write_frames))
    with style(), pytest.raises(KeyboardInterrupt):
        write_mp4(tmp_path / "film.mp4", reel(), 10, interrupt)
    assert there == [True]
    assert list(tmp_path.iterdir()) == []


def test_an_mp4_needs_an_extra(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(LantmError, match="pip install imageio-ffmpeg"):
        write_mp4(tmp_path / "film.mp4", reel(), 10, lambda: None)


def test_figures_need_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(LantmError, match="pip install matplotlib"), style():
        pass


def test_a_setting_that_matplotlib_refuses() -> None:
    """It reads the variable when it is imported."""
    command = [sys.executable, "-c", "from lantm.report.figures.canvas import style\nwith style(): pass"]
    ended = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "MPLBACKEND": "nonsense"}, check=False
    )
    assert "LantmError: matplotlib refuses its settings, such as MPLBACKEND" in ended.stderr


def test_the_camera_is_steady_and_cuts_nothing_off() -> None:
    random = np.random.default_rng(0)
    flat = projection(PLANE, np.zeros((1, 2)))
    scenes = [
        Scene(points, np.ones(9), np.zeros(9), np.zeros((0, 2)), points[:, None], None)
        for points in random.normal(size=(40, 9, 2)) * random.lognormal(size=(40, 1, 1))
    ]
    scenes[7] = scenes[7]._replace(writes=np.full((9, 2), np.nan), reads=np.full((9, 1, 2), np.nan))
    views = steady(scenes, flat)
    for at, (scene, (middle, half)) in enumerate(zip(scenes, views, strict=True)):
        if at != 7:
            assert (np.abs(scene.writes - middle) <= half).all()
        assert half[0] / half[1] == pytest.approx(views[0][1][0] / views[0][1][1]), "one scale on both axes"
    sizes = np.array([half[0] for _, half in views])
    alone = np.array([np.ptp(scene.writes, axis=0).max() for scene in scenes if np.isfinite(scene.writes).all()])
    assert np.abs(np.diff(sizes)).max() < 0.3 * np.abs(np.diff(alone)).max()
