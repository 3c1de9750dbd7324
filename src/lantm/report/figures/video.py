"""Video of a training, one frame per epoch, drawn from the recordings of the run."""

import contextlib
import dataclasses
import io
import pathlib
import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, UInt8

from lantm.errors import LantmError
from lantm.evaluation import Recording
from lantm.files import destination, temporary_path, write_whole
from lantm.geometry import Geometry
from lantm.report.figures.answer import symbol_colours
from lantm.report.figures.canvas import QUIET, READS, WRITE, Look, new_figure
from lantm.report.figures.keys import shades
from lantm.report.figures.scene import Scene, everything, lay_out
from lantm.report.projection import Projection, projection
from lantm.tasks import Source

if TYPE_CHECKING:
    from matplotlib.artist import Artist

Frame = UInt8[np.ndarray, "height width 3"]

_SIZE = (7.2, 4.8)  # inches of 100 pixels; MP4 needs even numbers of pixels
_STEADY = 6  # epochs before and after over which the view is smoothed
_HELD = 2.0  # seconds that the last frame is shown


@dataclasses.dataclass(frozen=True)
class Reel:
    """The content of a video."""

    title: str
    task: Source
    geometry: Geometry | None
    epochs: list[int]
    recordings: list[Recording]
    losses: dict[int, float]
    """By epoch; epochs without a finite loss are left out."""
    tests: dict[int, dict[str, str]]
    """Tests as text, by epoch and label, in order of epochs."""


def frames(reel: Reel) -> Iterator[Frame]:
    """The frames, one per epoch. Static parts are drawn once."""
    screen = _Screen(reel)
    for at in range(len(reel.epochs)):
        yield screen.frame(at)


class _Screen:
    """A figure in which only the moving parts are redrawn."""

    def __init__(self, reel: Reel) -> None:
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        self._reel = reel
        self._figure = new_figure(height=_SIZE[1], width=_SIZE[0])
        self._canvas = FigureCanvasAgg(self._figure)
        self._moving: list[Artist] = []
        self._figure.text(0.025, 0.975, reel.title, fontsize=10.5, fontweight="bold", va="top")
        self._words = [self._text(0.645, 0.86 - 0.052 * line, size) for line, size in enumerate((14, *[9] * 6))]
        self._add_loss()
        self._add_strip()
        self._scenes: list[Scene] = []
        if reel.geometry is not None and reel.recordings[-1].heads is not None:
            self._add_space(reel.geometry)
        self._canvas.draw()
        self._background = self._canvas.copy_from_bbox(self._figure.bbox)

    def frame(self, at: int) -> Frame:
        """The frame for the epoch at this index of the reel."""
        self._say(at)
        self._move_loss(at)
        self._move_strip(at)
        if self._scenes:
            self._move_heads(at)
        self._canvas.restore_region(self._background)
        renderer = self._canvas.get_renderer()
        for artist in self._moving:
            artist.draw(renderer)
        return np.asarray(self._canvas.buffer_rgba())[..., :3].copy()

    def _text(self, x: float, y: float, size: float) -> Any:
        text = self._figure.text(x, y, "", fontsize=size, va="top", animated=True)
        self._moving.append(text)
        return text

    def _say(self, at: int) -> None:
        reel = self._reel
        epoch, recording = reel.epochs[at], reel.recordings[at]
        loss = reel.losses.get(epoch)
        lines = [f"epoch {epoch}", f"loss {loss:.4f}" if loss is not None else "loss: not a number"]
        tested = max((test for test in reel.tests if test <= epoch), default=None)
        if tested is None:
            lines.append("not tested yet")
        else:
            lines += [f"{label}: {result}" for label, result in list(reel.tests[tested].items())[:3]]
        wrong = len(recording.wrong)
        lines.append(f"here: {wrong or 'none'} of {len(recording.expected)} {recording.unit}s wrong")
        for text, line in zip(self._words, [*lines, *[""] * len(self._words)], strict=False):
            text.set_text(line)

    # The loss so far, on a logarithmic scale.

    def _add_loss(self) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

        reel = self._reel
        axes = self._figure.add_axes((0.7, 0.29, 0.275, 0.24))
        losses = [(epoch, loss) for epoch, loss in sorted(reel.losses.items()) if loss > 0]
        axes.set_title("loss by epoch", fontsize=8, loc="left", pad=3)
        axes.tick_params(labelsize=7, length=2, width=0.5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, max(reel.epochs[-1], 1))
        if losses:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if _narrow(losses) else (1,), numticks=6))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda loss, _: f"{loss:g}"))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.plot(*zip(*losses, strict=True), color="#c9c9c9", linewidth=0.9)
        (self._so_far,) = axes.plot([], [], color="black", linewidth=1.0, animated=True)
        (self._now,) = axes.plot([], [], "o", color="black", markersize=4, animated=True)
        self._moving += [self._so_far, self._now]
        self._losses = np.array(losses).reshape(-1, 2)

    def _move_loss(self, at: int) -> None:
        so_far = self._losses[self._losses[:, 0] <= self._reel.epochs[at]]
        self._so_far.set_data(so_far[:, 0], so_far[:, 1])
        self._now.set_data(so_far[-1:, 0], so_far[-1:, 1])

    # The answer.

    def _add_strip(self) -> None:
        axes = self._figure.add_axes((0.13, 0.045, 0.845, 0.13))
        answer = max(len(recording.expected) for recording in self._reel.recordings)
        axes.set(xlim=(0, answer), ylim=(3, 0), xticks=[])
        axes.set_yticks([0.5, 1.5, 2.5], ["correct", "prediction", "difference"], fontsize=8)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        self._palette = symbol_colours(self._reel.task)
        blank = np.ones((3, answer, 3))
        image = axes.imshow(blank, extent=(0, answer, 3, 0), aspect="auto", interpolation="nearest", animated=True)
        self._strip = image
        self._moving.append(image)
        for row in (1, 2):
            self._moving.append(axes.axhline(row, color="white", linewidth=2, animated=True))

    def _move_strip(self, at: int) -> None:
        recording = self._reel.recordings[at]
        wrong = (recording.expected != recording.predicted)[:, None]
        difference = np.where(wrong, 0.0, 0.93) * np.ones(3)
        rows = np.stack([self._palette[recording.expected], self._palette[recording.predicted], difference])
        # Problems of one length may have answers of different sizes.
        blank = np.ones_like(self._strip.get_array())
        blank[:, : rows.shape[1]] = rows
        self._strip.set_data(blank)

    # The key space.

    def _add_space(self, geometry: Geometry) -> None:
        reel = self._reel
        heads = [recording.heads for recording in reel.recordings]
        last = heads[-1]
        assert last is not None
        # The projection is that of the last frame.
        self._flat = projection(geometry, last.keys.reshape(-1, last.keys.shape[-1]))
        self._scenes = [
            lay_out(recording, one, self._flat)
            for recording, one in zip(reel.recordings, heads, strict=True)
            if one is not None
        ]
        self._views = steady(self._scenes, self._flat)
        self._axes = self._figure.add_axes((0.025, 0.205, 0.585, 0.685))
        self._axes.set(xticks=[], yticks=[])
        self._lines = []
        for line in self._flat.outline:
            self._lines += self._axes.plot(*line.T, color=QUIET, linewidth=0.8, animated=True)
        self._writes = self._axes.scatter([], [], s=26, edgecolors=WRITE, linewidths=0.6, animated=True)
        self._reads = []
        for head in range(last.read_heads):
            colour = READS[head % len(READS)]
            look: Look = {"color": colour, "linewidth": 0.8, "marker": "o", "markersize": 2.8, "animated": True}
            self._reads += self._axes.plot([], [], **look)
        self._settled = []
        if last.settled_on is not None:
            for head in range(last.read_heads):
                ring: Look = {"facecolors": "none", "edgecolors": READS[head % len(READS)], "linewidths": 0.8}
                self._settled.append(self._axes.scatter([], [], s=48, animated=True, **ring))
        self._shades = shades()
        self._scale = self._axes.text(
            0.99, 0.012, "", transform=self._axes.transAxes, ha="right", fontsize=7.5, color="#666666", animated=True
        )
        self._moving += [*self._lines, self._writes, *self._reads, *self._settled, self._scale]
        about = "red: writes, darker is stronger; blue: reads of the answer, in the order of time"
        if self._settled:
            about += "; rings: what they settle on"
        self._figure.text(0.025, 0.932, about, fontsize=8, color="#666666", va="top")

    def _move_heads(self, at: int) -> None:
        scene, (middle, half) = self._scenes[at], self._views[at]
        self._axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
        self._axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
        self._writes.set_offsets(scene.writes)
        self._writes.set_facecolor(self._shades(scene.strengths))
        for head, line in enumerate(self._reads):
            line.set_data(*scene.reads[:, head].T)
        for head, rings in enumerate(self._settled):
            assert scene.settled is not None
            rings.set_offsets(scene.settled[:, head])
        if self._flat.equal:
            self._scale.set_text(f"{2 * half[0]:.3g} wide")


def _narrow(losses: list[tuple[int, float]]) -> bool:
    """Whether powers of ten would be too few axis ticks."""
    return max(loss for _, loss in losses) < 100 * min(loss for _, loss in losses)


def steady(scenes: list[Scene], flat: Projection) -> list[tuple[Float[np.ndarray, " 2"], Float[np.ndarray, " 2"]]]:
    """The view of every frame, as centre and half size: contains all writes and reads, and moves smoothly."""
    edges = []
    for scene in scenes:
        points = everything(scene._replace(mistake=None), flat)
        points = points[np.isfinite(points).all(axis=-1)]
        if not len(points):
            points = np.zeros((1, 2))
        edges.append([points.min(axis=0), points.max(axis=0)])
    lows, highs = np.array(edges).transpose(1, 0, 2)
    # The union over the neighbouring epochs, then its moving average, so that nothing is cut off.
    lows, highs = _near(_near(lows, np.min), np.mean), _near(_near(highs, np.max), np.mean)
    views = []
    for low, high in zip(lows, highs, strict=True):
        half = np.maximum((high - low) / 2 * 1.12, 1e-3 + 1e-3 * np.abs(low))
        if flat.equal:
            wide = _SIZE[0] * 0.585 / (_SIZE[1] * 0.685)
            half = max(half[0] / wide, half[1]) * np.array([wide, 1.0])
        views.append(((low + high) / 2, half))
    return views


def _near(values: Float[np.ndarray, "epochs 2"], together: Callable[..., Any]) -> Float[np.ndarray, "epochs 2"]:
    """Applies `together` to every value and its neighbours."""
    return np.array([together(values[max(0, at - _STEADY) : at + _STEADY + 1], axis=0) for at in range(len(values))])


def write_gif(path: pathlib.Path, reel: Reel, rate: int, tell: Callable[[], None]) -> None:
    """Writes an animated GIF."""
    from PIL import Image

    def pictures() -> Iterator[Any]:
        for frame in frames(reel):
            tell()
            yield Image.fromarray(frame).quantize(
                colors=128, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE
            )

    data = io.BytesIO()
    shown = pictures()
    first = next(shown)
    delay = round(100 / rate) * 10
    durations = [delay] * (len(reel.epochs) - 1) + [round(1000 * _HELD)]
    first.save(data, "GIF", save_all=True, append_images=shown, duration=durations, loop=0, optimize=False)
    write_whole(path, data.getvalue())


def write_mp4(path: pathlib.Path, reel: Reel, rate: int, tell: Callable[[], None]) -> None:
    """Writes an MP4, which is smaller than a GIF."""
    try:
        import imageio_ffmpeg
    except ImportError as error:
        raise LantmError("MP4 needs imageio-ffmpeg: pip install imageio-ffmpeg, or choose a .gif") from error
    path = destination(path)
    temporary = temporary_path(path)
    size = (round(100 * _SIZE[0]), round(100 * _SIZE[1]))
    form = ["-f", "mp4"]  # the temporary name has another suffix
    writer = imageio_ffmpeg.write_frames(
        str(temporary), size, fps=rate, quality=8, macro_block_size=2, output_params=form
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.closing(writer):
            with warnings.catch_warnings():
                # JAX warns about forked Python processes; this one immediately executes ffmpeg.
                warnings.filterwarnings("ignore", message="os.fork")
                writer.send(None)
            frame = None
            for frame in frames(reel):
                writer.send(frame)
                tell()
            for _ in range(round(rate * _HELD)):
                writer.send(frame)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
