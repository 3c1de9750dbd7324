"""Programs that are compiled before a job begins, and while another one runs."""

import dataclasses
import threading
from collections.abc import Callable, Iterator

import jax
import pytest
from small_study import Bench, Watch

from lantm import devices
from lantm.grids import Cell, GridFolder, InProcess, Request, Study, engine
from lantm.training import Experiment


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of our programs that are compiled, whether or not the disk remembers them."""
    devices.compiled_once.cache_clear()
    jax.clear_caches()
    names: list[str] = []

    def note(event: str, seconds: float, **about: str) -> None:
        if event.endswith("backend_compile_duration") and about.get("fun_name") == "jit(compiled)":
            names.append(about["fun_name"])

    jax.monitoring.register_event_duration_secs_listener(note)
    yield names
    jax.monitoring.unregister_event_duration_listener(note)


@pytest.mark.thorough
def test_a_cell_compiles_nothing_more(bench: Bench, compiled: list[str]) -> None:
    bench.cell.compile()
    before = len(compiled)
    assert before >= 4, "the start, training, tests, and scores at other lengths"
    assert not bench.run.exists(), "nothing is trained"
    assert bench() is not None
    assert len(compiled) == before


@pytest.mark.thorough
def test_one_of_a_text_neither(text_experiment: Callable[..., Experiment], compiled: list[str], bench: Bench) -> None:
    (cell,) = Study("texts", "", lambda request: [Cell(text_experiment(), {}, request)]).selected(Request(bare=True))
    cell.compile()
    before = len(compiled)
    assert before >= 4
    InProcess().run([cell], bench.folder, lambda event: None, lambda: False)
    assert cell.stored(bench.folder) is not None
    assert len(compiled) == before


class Noted(Cell):
    """Notes where it is compiled, and fails to be."""

    threads: list[str] = []  # noqa: RUF012 one list for all

    def compile(self) -> None:  # type: ignore[override]
        Noted.threads.append(f"{self.varied} {threading.current_thread() is threading.main_thread()}")
        raise ValueError("it cannot be compiled")


@pytest.mark.parametrize(("cpu", "threads"), [(False, ["other False"]), (True, [])])
def test_the_next_one_is_compiled_meanwhile(
    done: Bench, cpu: bool, threads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not on a CPU. One that fails so is done all the same, and what shares a training is not."""
    Noted.threads.clear()
    cell = done.cell
    jobs = [
        Noted(
            experiment=cell.experiment,
            figures=cell.figures,
            request=dataclasses.replace(done.request, scales=asked),
            scales=(1, 2),
            varied=varied,
            study="small",
        )
        for varied, asked in (("", ()), ("", (1, 2)), ("other", ()))
    ]
    folder = GridFolder(done.folder.path, done.folder.records)
    watch = Watch()
    monkeypatch.setattr(engine, "on_cpu", lambda: cpu)
    InProcess().run(jobs, folder, watch.events.append, watch.stop)
    assert Noted.threads == threads
    assert [event.state for event in watch.events if event.progress is None] == ["running", "done"] * 3
