"""Figures say what the recording says: marks, their order and the mistake are read back from the files."""

import dataclasses
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest
from acting import copying, elsewhere, settling
from drawn import Drawing, assert_same_picture
from PIL import Image

from lantm.evaluation import Heads, Memories, Recording
from lantm.geometry import Geometry, make_geometry
from lantm.report.figures.answer import draw_answer
from lantm.report.figures.canvas import style
from lantm.report.figures.gates import draw_gates
from lantm.report.figures.keys import draw_keys
from lantm.report.figures.read_labels import room_for
from lantm.report.figures.scene import around, everything, lay_out
from lantm.report.figures.trace import verdict, write_figures
from lantm.report.projection import Projection, circle
from lantm.tasks import make_task

PLANE = make_geometry("translation")


def wandering(length: int, wrong: tuple[int, ...] = (), reads: int = 1, writes: int = 1, size: int = 2) -> Recording:
    """A machine that wanders at random through a key space, with a memory that was there before."""
    random = np.random.default_rng(length)
    answer_start, steps = length + 1, 2 * length + 2
    walk = np.cumsum(random.normal(size=(steps, reads + writes, size)), axis=0)
    first = random.normal(size=(1, size))
    addresses = np.concatenate([first, walk[:answer_start, reads:].reshape(-1, size)])
    slots = len(addresses)
    number = np.arange(slots) - 1
    heads = Heads(
        read_heads=reads,
        keys=walk,
        key_gates=random.uniform(size=(steps, reads + writes)),
        action_gates=random.uniform(size=(steps, reads + writes)),
        memories=Memories(
            addresses,
            random.uniform(size=slots),
            np.where(number < 0, -1, number // writes),
            np.where(number < 0, -1, number % writes),
        ),
        seen=np.zeros((steps, 2), int),
    )
    return dataclasses.replace(copying(length, wrong), heads=heads)


def drawn(
    recording: Recording, folder: pathlib.Path, name: str, task: str = "copy", geometry: Geometry = PLANE
) -> Drawing:
    """One figure, read back from its SVG file."""
    draw = {
        "keys": lambda: draw_keys(recording, geometry, "a machine", "somebody"),
        "gates": lambda: draw_gates(recording, "a machine", "somebody"),
        "answer": lambda: draw_answer(recording, make_task(task), "a machine", "somebody"),
    }
    with style():
        draw[name]().savefig(folder / f"{name}.svg", metadata={"Date": None})
    return Drawing(folder / f"{name}.svg")


def test_all_figures_as_png_and_svg(tmp_path: pathlib.Path) -> None:
    """Whole files, the same each time, as wide as a README, with the verdict above each."""
    recording = wandering(9, wrong=(4, 7))
    for folder in ("one", "other"):
        files = write_figures(recording, make_task("copy"), PLANE, "copy", "somebody", tmp_path / folder)
    expected = {f"{name}.{suffix}" for name in ("keys", "gates", "answer") for suffix in ("png", "svg")}
    assert {path.name for path in files} == expected == {path.name for path in (tmp_path / "one").iterdir()}
    for path in files:
        assert path.read_bytes() == (tmp_path / "one" / path.name).read_bytes()
        if path.suffix == ".png":
            with Image.open(path) as image:
                assert image.width == 1760, "two pixels for each of a README's 880"
        else:
            assert Drawing(path).text("title") == "copy: 2 of 10 symbols are wrong, the first is symbol 5"


def test_a_machine_without_memory_has_only_an_answer(tmp_path: pathlib.Path) -> None:
    recording = dataclasses.replace(copying(8), heads=None)
    files = write_figures(recording, make_task("copy"), None, "copy", "somebody", tmp_path)
    assert [path.name for path in files] == ["answer.png", "answer.svg"]


@pytest.mark.parametrize("length", [8, 300])
def test_the_overview_has_every_write_and_every_read(tmp_path: pathlib.Path, length: int) -> None:
    recording = wandering(length, wrong=(length // 2, length - 2))
    keys = drawn(recording, tmp_path, "keys")
    heads, start = recording.heads, recording.answer_start
    assert keys.marks("overview-writes-0").shape == (length + 1, 2), "the slot that was there before is no write"
    assert keys.marks("overview-reads-0").shape == (length + 1, 2), "only reads of the answer"
    together = np.concatenate([heads.memories.addresses[1:], heads.keys[start:, 0]])
    marks = np.concatenate([keys.marks("overview-writes-0"), keys.marks("overview-reads-0")])
    assert_same_picture(marks, together)
    assert_same_picture(keys.line("overview-path-0"), heads.keys[start:, 0])
    np.testing.assert_allclose(keys.line("overview-path-0"), keys.marks("overview-reads-0"), atol=0.01)
    np.testing.assert_allclose(keys.marks("overview-first-0"), keys.marks("overview-reads-0")[:1], atol=0.01)


def test_the_mistake_is_where_its_reading_was(tmp_path: pathlib.Path) -> None:
    """Symbol 4 of the answer, counted from 0, was made from the reading of the step before it."""
    recording = wandering(9, wrong=(4, 7))
    keys, gates, answer = (drawn(recording, tmp_path, name) for name in ("keys", "gates", "answer"))
    np.testing.assert_allclose(keys.marks("overview-mistake"), keys.marks("overview-reads-0")[3:4], atol=0.01)
    steps = gates.line("gate-0")[:, 0]
    assert gates.line("mistake-0")[0, 0] == pytest.approx(steps[recording.answer_start + 4], abs=0.01)
    assert answer.names(r"wrong-\d+") == ["wrong-5", "wrong-8"]
    assert answer.names(r"first-mistake-\d+") == ["first-mistake-5"]


def test_no_mistake_is_marked_where_there_is_none(tmp_path: pathlib.Path) -> None:
    for name in ("keys", "gates", "answer"):
        assert not drawn(wandering(9), tmp_path, name).names("wrong.*|.*mistake.*")


def test_the_very_first_symbol_can_be_wrong(tmp_path: pathlib.Path) -> None:
    """Its reading was made before the answer began: it is marked, though no read of the answer is there."""
    recording = wandering(9, wrong=(0,))
    keys = drawn(recording, tmp_path, "keys")
    points = np.concatenate([keys.marks("overview-reads-0"), keys.marks("overview-mistake")])
    start = recording.answer_start
    assert_same_picture(points, np.concatenate([recording.heads.keys[start:, 0], recording.heads.keys[start - 1, :1]]))


def test_darker_is_stronger(tmp_path: pathlib.Path) -> None:
    recording = wandering(12)
    fills = drawn(recording, tmp_path, "keys").fills("overview-writes-0")
    brightness = [sum(int(fill[at : at + 2], 16) for at in (1, 3, 5)) for fill in fills]
    assert np.argsort(brightness)[::-1].tolist() == np.argsort(recording.heads.memories.strengths[1:]).tolist()


def test_the_beginning_and_the_end(tmp_path: pathlib.Path) -> None:
    """Each shows its twelve reads and what is written beside them, in order; the rest is left out."""
    recording = copying(100)
    keys = drawn(recording, tmp_path, "keys")
    reads = recording.heads.keys[recording.answer_start :, 0]
    for name in ("beginning", "end"):
        marks = keys.marks(f"{name}-reads-0")
        assert 12 <= len(marks) < 16
        assert_same_picture(marks, reads[: len(marks)] if name == "beginning" else reads[-len(marks) :])
        assert 10 <= len(keys.marks(f"{name}-writes-0")) < 16
    left, right = (keys.marks(f"{name}-reads-0") for name in ("beginning", "end"))
    assert len(keys.marks("beginning-first-0")) == 1
    assert not keys.names("end-first-0")
    assert left[:, 0].max() < right[:, 0].min(), "side by side"


def test_what_reads_settle_on(tmp_path: pathlib.Path) -> None:
    """Rings around those memories in the parts, and an entry of the legend; nothing for other machines."""
    recording = copying(20, read_gap=1.02)
    start = recording.answer_start
    keys = drawn(settling(recording, until=start + 5), tmp_path, "keys")
    rings = keys.marks("beginning-settled-0")
    writes = keys.marks("beginning-writes-0")
    assert len(rings) == 5
    assert np.abs(rings[:, None] - writes).sum(axis=-1).min(axis=1).max() < 0.01, "on memories"
    reads = keys.marks("beginning-reads-0")[:5]
    np.testing.assert_array_less(rings[:, 0], reads[:, 0], "and not on the reads, which are ahead of them")
    assert len(keys.marks("end-settled-0")) == 0
    assert "settles there" in (tmp_path / "keys.svg").read_text()
    assert not drawn(recording, tmp_path, "keys").names(".*-settled-.*")
    assert "settles there" not in (tmp_path / "keys.svg").read_text()


@pytest.mark.parametrize("reads", [1, 2])
def test_the_legend_takes_no_head_for_another(reads: int) -> None:
    """Marks that every head has are in its colour only if there is one head."""
    figure = draw_keys(wandering(12, reads=reads, writes=1), make_geometry("translation"), "a machine", "somebody")
    entries = {line.get_label(): line.get_markeredgecolor() for line in figure.legends[0].legend_handles}
    names = ["read of the answer"] if reads == 1 else ["read head 1", "read head 2"]
    assert [name for name in entries if name.startswith("read") and "wrong" not in name] == names
    assert (entries["first read"] == entries[names[0]]) == (reads == 1)
    assert entries["first read"] not in [entries[name] for name in names[1:]]


def test_over_time_rings_are_beside_the_reads(tmp_path: pathlib.Path) -> None:
    recording = elsewhere(settling(copying(20, read_gap=1.01)), 1)
    keys = drawn(recording, tmp_path, "keys", geometry=make_geometry("translation-1"))
    rings, reads = keys.marks("beginning-settled-0"), keys.marks("beginning-reads-0")
    np.testing.assert_allclose(rings[:, 0], reads[: len(rings), 0], atol=0.01)


def test_reads_that_lost_the_line_are_shown_with_it(tmp_path: pathlib.Path) -> None:
    recording = copying(60)
    recording.heads.keys[recording.answer_start :, 0, 1] += np.linspace(0, 9, 61)
    keys = drawn(recording, tmp_path, "keys")
    assert len(keys.marks("end-writes-0")) > 5
    recording.heads.keys[recording.answer_start :, 0, 1] += 1000
    keys = drawn(recording, tmp_path, "keys")
    assert len(keys.marks("end-writes-0")) == 0, "unless it is out of sight"


def test_an_idle_head_is_not_zoomed_at(tmp_path: pathlib.Path) -> None:
    """A second read head far from every memory is in the overview only; one that is as near as the first is shown."""
    recording = copying(60)
    heads = recording.heads

    def beside(away: float) -> Drawing:
        other = heads.keys[:, :1] + np.array([0.0, away])
        gates = np.zeros((recording.steps, 3))
        two = dataclasses.replace(
            heads,
            read_heads=2,
            keys=np.concatenate([other, heads.keys], axis=1),
            key_gates=gates,
            action_gates=gates,
        )
        return drawn(dataclasses.replace(recording, heads=two), tmp_path, "keys")

    keys = beside(away=100.0)
    assert len(keys.marks("overview-reads-0")) == len(keys.marks("overview-reads-1")) == 61
    for name in ("beginning", "end"):
        assert len(keys.marks(f"{name}-reads-0")) == 0
        assert 12 <= len(keys.marks(f"{name}-reads-1")) < 16
    assert "beginning: reads 1 to 12 of head 2" in (tmp_path / "keys.svg").read_text()
    keys = beside(away=1.0)
    assert len(keys.marks("end-reads-0")) >= 12
    assert "of head" not in (tmp_path / "keys.svg").read_text()


def test_several_heads(tmp_path: pathlib.Path) -> None:
    recording = wandering(7, wrong=(3,), reads=2, writes=3)
    keys, heads, start = drawn(recording, tmp_path, "keys"), recording.heads, recording.answer_start
    for head in range(2):
        assert_same_picture(keys.line(f"overview-path-{head}"), heads.keys[start:, head])
    for head in range(3):
        assert_same_picture(keys.marks(f"overview-writes-{head}"), heads.keys[:start, 2 + head])
    assert len(keys.marks("overview-mistake")) == 2, "one of two read heads was wrong, or both"
    gates = drawn(recording, tmp_path, "gates")
    assert gates.names(r"gate-\d+") == [f"gate-{row}" for row in range(10)]
    for head in range(5):
        for row, values in ((2 * head, heads.key_gates), (2 * head + 1, heads.action_gates)):
            expected = np.stack([np.arange(recording.steps), values[:, head]], axis=-1)
            assert_same_picture(gates.line(f"gate-{row}"), expected, equal=False)


@pytest.mark.parametrize(("reads", "writes"), [(1, 1), (4, 1), (12, 12)])
def test_names_of_gates_are_whole(reads: int, writes: int) -> None:
    with style():
        figure = draw_gates(wandering(12, reads=reads, writes=writes), "a machine", "somebody")
        figure.draw_without_rendering()
    starts = [axes.yaxis.label.get_window_extent().x0 for axes in figure.axes]
    assert all(axes.get_ylabel().endswith((" key gate", " action gate")) for axes in figure.axes), "as pages call them"
    assert 0 <= min(starts) < 0.05 * figure.bbox.width


def test_where_the_answer_begins(tmp_path: pathlib.Path) -> None:
    recording = wandering(20)
    gates = drawn(recording, tmp_path, "gates")
    steps = gates.line("gate-0")[:, 0]
    before, after = steps[recording.answer_start - 1], steps[recording.answer_start]
    assert before < gates.line("answer-0")[0, 0] < after


def test_long_answers_are_folded(tmp_path: pathlib.Path) -> None:
    wrong = (0, 130, 131, 599)
    answer = drawn(copying(600, wrong), tmp_path, "answer")
    assert answer.names(r"line-\d+") == [f"line-{line}" for line in range(5)]
    assert answer.names(r"wrong-\d+") == ["wrong-1", "wrong-131", "wrong-132", "wrong-600"]
    assert answer.names(r"first-mistake-\d+") == ["first-mistake-1"]


def worked(symbols: list[int], predicted: list[int], task: str) -> Recording:
    """A recording of arithmetic: digits of the input and of what was said, both in the order of time."""
    kind = make_task(task)
    expected = np.asarray(kind.layout(jnp.array([symbols]), len(symbols) // 2).targets)[-len(predicted) :, 0]
    inputs = np.array([kind.start, *symbols, *[kind.end_of_input] * len(predicted)])
    return Recording(inputs, expected, np.array(predicted), None)


def test_arithmetic_is_worked_out(tmp_path: pathlib.Path) -> None:
    """423 + 94 = 517, of which the machine said 507."""
    recording = worked([4, 3, 9, 2, 0, 4], [7, 0, 5, 0, 12], "addition")
    answer = drawn(recording, tmp_path, "answer", "addition")
    lines = [answer.text(name) for name in answer.names(r"worked-0-\d")]
    assert lines == ["  423", "+ 094", "∎0517", "∎0507", "   * "]


def test_long_arithmetic_is_folded(tmp_path: pathlib.Path) -> None:
    random = np.random.default_rng(0)
    symbols = random.integers(10, size=800).tolist()
    x, y = (int("".join(map(str, symbols[start::2][::-1]))) for start in (1, 0))
    said = [0] * 401 + [12]
    answer = drawn(worked(symbols, said, "addition"), tmp_path, "answer", "addition")
    lines: dict[int, str] = {}
    for name in answer.names(r"worked-\d+-\d"):
        row = int(name.rpartition("-")[2])
        lines[row] = lines.get(row, "") + answer.text(name)
    total = f"{x + y:0401d}"
    assert lines[0].strip() == f"{x:0400d}"
    assert lines[1] == f"+ {y:0400d}"
    assert lines[2] == f"∎{total}"
    assert lines[3] == "∎" + 401 * "0"
    assert lines[4] == " " + "".join(" " if digit == "0" else "*" for digit in total)


def test_symbols_are_text(tmp_path: pathlib.Path) -> None:
    """Dollars, backslashes and angle brackets are shown, not read as mathematics or markup."""
    copy = make_task("copy")
    symbols = np.array(copy.read(r"$\a$<&>"))
    expected = np.append(symbols, copy.end_of_output)
    predicted = np.append(symbols[::-1], copy.start)
    inputs = np.concatenate([[copy.start], symbols, [copy.end_of_input] * len(expected)])
    assert drawn(Recording(inputs, expected, predicted, None), tmp_path, "answer").names("wrong.*")


def test_a_machine_that_diverged_is_drawn(tmp_path: pathlib.Path) -> None:
    recording = wandering(6, wrong=(2,))
    recording.heads.keys[:] = np.nan
    recording.heads.memories.addresses[:] = np.inf
    recording.heads.key_gates[:] = np.nan
    keys = drawn(recording, tmp_path, "keys")
    assert len(keys.marks("overview-reads-0")) == 0


@pytest.mark.parametrize(("wrong", "said"), [((), "all 9 symbols are right"), ((3,), "symbol 4 of 9 is wrong")])
def test_verdicts(wrong: tuple[int, ...], said: str) -> None:
    assert verdict(copying(8, wrong)) == said


def test_a_mistake_in_the_middle_has_a_picture_of_its_own(tmp_path: pathlib.Path) -> None:
    keys = drawn(copying(100, wrong=(50,)), tmp_path, "keys")
    assert keys.names("overview|beginning|mistake|end") == ["overview", "beginning", "mistake", "end"]
    around = keys.marks("mistake-reads-0")
    cross = keys.marks("mistake-mistake")
    assert len(cross) == 1
    assert np.abs(around - cross).sum(axis=1).min() < 0.01, "on the read that the wrong symbol was made from"
    assert around[:, 0].min() < cross[0, 0] < around[:, 0].max()
    for wrong in (2, 99):  # near the beginning or the end, it is seen there
        assert not drawn(copying(100, wrong=(wrong,)), tmp_path, "keys").names("mistake")


def test_reads_are_numbered_in_the_order_of_time(tmp_path: pathlib.Path) -> None:
    keys = drawn(copying(40), tmp_path, "keys")
    for name, expected in (("beginning", range(1, 13)), ("end", range(30, 42))):
        numbers = [int(found.rpartition("-")[2]) for found in keys.names(f"{name}-number-0-.*")]
        assert numbers == sorted(numbers)
        assert len(numbers) >= 6
        assert set(numbers) <= set(expected)
        assert [keys.text(f"{name}-number-0-{number}") for number in numbers] == list(map(str, numbers))


def test_numbers_cover_nothing() -> None:
    """A label that would lie on a mark has no room; one beside it has some."""
    marks, radii = np.array([[0.0, 0.0], [100.0, 0.0]]), np.array([4.0, 4.0])
    size = np.array([8.0, 6.0])
    assert room_for(np.array([0.0, 2.0]), size, marks, radii) < 0
    assert room_for(np.array([0.0, 10.0]), size, marks, radii) == pytest.approx(3.0)
    assert room_for(np.array([20.0, 0.0]), size, marks, radii) == pytest.approx(12.0)
    assert room_for(np.array([0.0, 0.0]), size, np.zeros((0, 2)), np.zeros(0)) == np.inf


def test_a_line_is_drawn_over_time(tmp_path: pathlib.Path) -> None:
    """In the parts, a faint line leads from every memory to the reads beside it."""
    recording = wandering(30, wrong=(15,), size=1)
    keys = drawn(recording, tmp_path, "keys", geometry=make_geometry("translation-1"))
    start, heads = recording.answer_start, recording.heads
    written = np.stack([np.arange(start), heads.memories.addresses[1:, 0]], axis=-1)
    read = np.stack([np.arange(start, recording.steps), heads.keys[start:, 0, 0]], axis=-1)
    marks = np.concatenate([keys.marks("overview-writes-0"), keys.marks("overview-reads-0")])
    assert_same_picture(marks, np.concatenate([written, read]), equal=False)
    assert keys.names(".*-levels") == ["beginning-levels", "mistake-levels", "end-levels"]
    assert keys.text("subtitle") == "somebody; step to the right, key upwards"


def test_a_fixed_point_is_marked(tmp_path: pathlib.Path) -> None:
    keys = drawn(wandering(6), tmp_path, "keys", geometry=make_geometry("rotation"))
    across, along = (keys.line(f"overview-outline-{line}") for line in (0, 1))
    np.testing.assert_allclose(across.mean(axis=0), along.mean(axis=0), atol=0.01)


def test_an_overview_shows_the_whole_of_a_bounded_space() -> None:
    recording = copying(5)
    rim = Projection(lambda keys, times: keys / 100, outline=(circle(1.0),), bounded=True)
    scene = lay_out(recording, recording.heads, rim)
    assert around(everything(scene, rim), rim, margin=0.0).half.tolist() == pytest.approx([1.0, 1.0])
    plane = dataclasses.replace(rim, bounded=False)
    assert around(everything(scene, plane), plane, margin=0.0).half[0] < 0.1


def test_reads_in_one_place_get_a_square_picture(tmp_path: pathlib.Path) -> None:
    plane = Projection(lambda keys, times: keys)
    box = around(np.full((4, 2), [300.0, -1.0]), plane, margin=0.1)
    assert box.half[0] == box.half[1] > 0
    assert box.middle.tolist() == [300.0, -1.0]
    recording = copying(6)
    recording.heads.keys[:, 0] = 2.0
    assert len(drawn(recording, tmp_path, "keys").marks("end-reads-0")) == 7
