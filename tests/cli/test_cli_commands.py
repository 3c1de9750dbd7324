"""The commands at work: train, eval, solve, and things of the user's own."""

import dataclasses
import io
import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lantm.cli.advice import advice
from lantm.evaluation import Draw, Measured, ProblemExaminer, Scores
from lantm.locks import LOCK_FILES
from lantm.paper.presets import RECIPES, preset
from lantm.randomness import EVALUATE
from lantm.tasks import TASKS, Copy, Lengths, make_task
from lantm.trained import load_run
from lantm.training import Experiment, RunFolder
from lantm.weight_files import named_arrays

ROOT = pathlib.Path(__file__).parents[2]
ROW = {"task", "model", "recipe", "scale", "lengths", "problems", "coarse", "fine", "median_coarse", "seeds", "solved"}


@pytest.fixture(scope="module")
def by_command(tiny_flags: list[str], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return tmp_path_factory.mktemp("by-command") / "a run [1]"


def test_train(lantm, by_command: pathlib.Path, tiny_flags: list[str], trained) -> None:
    """The same training as by the library, with a report on standard output."""
    said = lantm("train", *tiny_flags, "--out", by_command)
    assert said.status == 0
    assert said.err == ""
    lines = said.out.splitlines()
    assert lines[0] == f"training 4 seeds of lantm-invnorm on copy, recipe paper, into {by_command}"
    assert lines[2].split()[:4] == ["epoch", "trained", "loss", "rate"]
    assert [line.split()[0] for line in lines[3:6]] == ["2", "4", "6"]
    assert max(map(len, lines[2:-3])) <= 80
    assert f"everything is in {by_command}" in lines[-3]
    assert lines[-2] == f"no seed solved 1x; train further: lantm train --resume '{by_command}' --epochs 12"
    assert lines[-1].startswith("or start anew with --recipe robust or --recipe exact, for longer training; docs")

    folder = RunFolder.open(by_command)
    assert folder.experiment() == trained.experiment
    assert list(folder.metrics()) == list(trained.folder.metrics())
    assert folder.provenance()["jax"]
    summary = json.loads((by_command / "summary.json").read_text())
    assert summary["epoch"] == 6
    assert [row["scale"] for row in summary["rows"]] == ["1x", "2x"]
    assert summary["rows"][0]["fine"] == pytest.approx(trained.result.tests["1x"].fine.max(), abs=0.01)


def test_train_again_with_json(lantm, by_command: pathlib.Path, copy_of_run: Callable[[], RunFolder]) -> None:
    """A complete run, resumed, is scored once more; standard output is JSON and nothing else."""
    folder = copy_of_run()
    said = lantm("train", "--resume", folder.path, "--json")
    assert said.status == 0
    rows = json.loads(said.out)
    assert [row["scale"] for row in rows] == ["1x", "2x"]
    assert all(row.keys() >= ROW for row in rows)
    assert "everything is in" in said.err
    assert json.loads((folder.path / "summary.json").read_text())["rows"] == rows


def test_a_complete_run_is_not_written_again(lantm, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    assert lantm("train", "--resume", folder.path).status == 0, "it writes what is missing"

    def written() -> dict[pathlib.Path, int]:
        files = [path for path in folder.path.rglob("*") if path.is_file() and path.name not in LOCK_FILES]
        return {path: path.stat().st_mtime_ns for path in files}

    before = written()
    assert folder.path / "report.html" in before
    assert lantm("train", "--resume", folder.path).status == 0
    assert written() == before
    (folder.path / "report.html").unlink()
    assert lantm("train", "--resume", folder.path).status == 0
    assert {path for path, at in written().items() if before[path] != at} == {folder.path / "report.html"}


@pytest.mark.parametrize(
    ("model", "recipe", "solved", "words"),
    [
        ("lantm-invnorm", "demo", 0, ["--resume RUN --epochs 540", "--recipe robust or --recipe exact"]),
        ("lantm-invnorm", "robust", 0, ["--epochs 4000", "with --recipe exact, for longer training"]),
        ("lstm", "paper", 0, ["--epochs 4000", "with --recipe robust or --recipe tuned"]),
        ("lantm-invnorm", "demo", 1, []),
    ],
)
def test_advice_after_a_training_that_solved_nothing(model: str, recipe: str, solved: int, words: list[str]) -> None:
    lines = advice(preset("reverse", model, recipe), [{"scale": "1x", "solved": solved}], "lantm train --resume RUN")
    assert bool(lines) == bool(words)
    assert all(word in "\n".join(lines) for word in words)


@pytest.mark.thorough
def test_a_complete_run_keeps_its_time_and_its_summary(lantm, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    folder.write_seconds(1234.0)
    folder.write_summary({"epoch": 6, "seconds": 1234.0, "date": "then"})
    said = lantm("train", "--resume", folder.path)
    assert said.out.startswith("already complete: 4 seeds of lantm-invnorm on copy, recipe paper, in ")
    assert said.out.splitlines()[0].endswith("; to train it further, add --epochs N")
    assert "trained for 1234 s" in said.out
    assert (folder.seconds, folder.summary()["date"]) == (1234.0, "then")


@pytest.mark.thorough
def test_training_a_complete_run_further(lantm, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    folder.write_seconds(1000.0)
    assert "the run is set to 6" in lantm("train", "--resume", folder.path, "--epochs", 6).err
    said = lantm("train", "--resume", folder.path, "--epochs", 8)
    assert (said.status, said.err) == (0, "")
    assert [line.split()[0] for line in said.out.splitlines()[3:4]] == ["8"]
    assert (folder.experiment().recipe.epochs, folder.summary()["epoch"]) == (8, 8)
    assert 1000 < folder.seconds < 1600, "of all processes"
    assert folder.summary()["seconds"] == folder.seconds
    assert "leave out --cells" in lantm("train", "--resume", folder.path, "--cells", 3).err


def test_the_estimated_time_is_what_is_left(
    lantm, copy_of_run: Callable[[], RunFolder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lantm.cli.train.estimated_hours", lambda *_: 40.0)
    folder = copy_of_run()
    assert "estimated time" not in lantm("train", "--resume", folder.path).out, "it is complete"
    said = lantm("train", "--resume", folder.path, "--epochs", 8).out
    assert "estimated time: about 10 hours" in said, "6 of 8 epochs are done"


@pytest.mark.thorough
def test_training_from_a_trained_machine(lantm, trained, tiny_flags: list[str], tmp_path: pathlib.Path) -> None:
    """Its sizes are the defaults; one step of no size leaves its weights as they are, in every seed."""
    kept = [word for word in tiny_flags if word not in ("--cells", "--embedding", "--memory-width", "3")]
    kept.remove("6")  # that of --cells
    still = ["--learning-rate", "1e-30", "--epochs", 1, "--test-every", 1, "--out", tmp_path / "run"]
    said = lantm("train", "reverse", *kept[1:], "--from", trained.folder.path, *still)
    assert (said.status, said.err) == (0, "")
    run = load_run(RunFolder.open(tmp_path / "run"))
    assert run.experiment.machine == trained.experiment.machine
    assert run.trained["from"] == str(trained.folder.path)
    assert f"on reverse, recipe paper, from {trained.folder.path}, into" in said.out.splitlines()[0]
    assert '"started from"' in (tmp_path / "run" / "report.html").read_text()
    best = named_arrays(trained.machines.model())
    for name, array in named_arrays(run.last_weights).items():
        np.testing.assert_array_equal(array, np.broadcast_to(best[name], array.shape), name)


def test_what_training_cannot_begin_with(lantm, trained, tmp_path: pathlib.Path) -> None:
    again = ["--out", tmp_path / "other", "--from", trained.folder.path]
    assert "do not fit" in lantm("train", "addition", *again).err
    assert "do not fit" in lantm("train", "copy", *again, "--cells", 7).err
    assert "leave out --from" in lantm("train", "--resume", trained.folder.path, "--from", "copy").err


def test_eval(lantm, trained) -> None:
    said = lantm("eval", trained.folder.path, "--problems", 8, "--batch-size", 4, "--json", "--lengths", 3, 8)
    assert (said.status, said.err) == (0, "")
    rows = json.loads(said.out)
    assert [(row["scale"], row["lengths"]) for row in rows] == [("0.75x", [3, 3]), ("2x", [8, 8])]
    for row in rows:
        assert row.keys() >= ROW
        assert (row["task"], row["model"], row["recipe"]) == ("copy", "lantm-invnorm", "paper")
        assert (row["seeds"], row["problems"]) == (4, 8)
        assert len(row["coarse_by_seed"]) == 4
        assert 0 <= row["coarse"] <= row["fine"] <= 100
        assert row["fine"] == row["fine_by_seed"][row["best_seed"]]


def test_eval_saves_a_result_with_its_origin(lantm, trained, tmp_path: pathlib.Path) -> None:
    asked = [trained.folder.path, "--problems", 8, "--batch-size", 4, "--lengths", 3, 8]
    rows = json.loads(lantm("eval", *asked, "--json", "--save", tmp_path / "new" / "result.json").out)
    record = json.loads((tmp_path / "new" / "result.json").read_text())
    assert record["rows"] == rows
    assert record["experiment"] == json.loads(json.dumps(trained.experiment.to_json()))
    assert (record["epoch"], record["weights"]) == (6, "best")
    assert record["scored"]["jax"]
    assert record["command"] == "lantm eval RUN --problems 8 --batch-size 4 --lengths 3 8 --json"
    said = lantm("eval", *asked, "--save", tmp_path)
    assert said.status == 2
    assert said.err.startswith(f"lantm: cannot write {tmp_path}")


def test_eval_on_another_task(lantm, trained, tmp_path: pathlib.Path) -> None:
    """Of the same symbols and the same lengths; the machine is the one that was trained."""
    asked = [trained.folder.path, "--problems", 8, "--batch-size", 4, "--scales", 1, "--json"]
    (row,) = json.loads(lantm("eval", *asked, "--task", "reverse", "--save", tmp_path / "result.json").out)
    assert (row["task"], row["lengths"]) == ("reverse", [2, 4])
    assert json.loads((tmp_path / "result.json").read_text())["experiment"]["task"] == "copy"
    task, machines = dataclasses.replace(trained.experiment, task="reverse").build_task(), trained.machines
    examiner = ProblemExaminer(task, {"1x": task.lengths_at(1)}, 4, 4)
    scores = examiner(machines.best_weights, machines.start_seeds, Draw(8, EVALUATE, 1))["1x"]
    assert isinstance(scores, Scores)
    assert row["fine_by_seed"] == np.round(scores.fine, 2).tolist()
    said = lantm("eval", *asked, "--task", "addition")
    assert (said.status, said.err.count("\n")) == (2, 1)
    assert "addition has other symbols than copy" in said.err


def test_eval_as_a_table(lantm, trained) -> None:
    said = lantm("eval", trained.folder.path, "--problems", 9, "--batch-size", 4)
    lines = said.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "…" not in said.out, "nothing is cut off"
    assert [line.split()[:3] for line in lines if line.split()[:1] in (["1x"], ["2x"], ["4x"])] == [
        ["1x", "2-4", "12"],
        ["2x", "5-8", "12"],
        ["4x", "16", "12"],
    ]
    for head in ("scale", "lengths", "problems", "coarse", "fine", "median", "solved", "first"):
        assert head in said.out


def test_eval_of_hard_problems(lantm, trained) -> None:
    asked = ["eval", trained.folder.path, "--problems", 64, "--batch-size", 4, "--scales", 1, 2, "--hard"]
    rows = json.loads(lantm(*asked, "--json").out)
    assert [row["scale"] for row in rows] == ["1x", "1x hard", "2x", "2x hard"]
    assert ["kinds" in row for row in rows] == [False, True, False, True]
    assert list(rows[1]["kinds"]) == list(Copy().hard_kinds)
    said = lantm(*asked)
    assert [line.split()[:4] for line in said.out.splitlines() if "hard" in line] == [
        ["1x", "hard", "2-4", "64"],
        ["2x", "hard", "5-8", "64"],
    ]
    assert max(map(len, said.out.splitlines())) <= 80


def test_eval_examines_what_was_asked_for(lantm, trained, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which weights, which problems, how many: as the flags say."""
    asked: list[tuple[Any, ...]] = []

    class Recorder(ProblemExaminer):
        def __init__(self, task: Any, lengths: Any, seeds: int, batch_size: int):
            self.lengths, self.batch_size = lengths, batch_size

        def __call__(self, models: Any, seeds: Any, draw: Draw) -> dict[str, Measured]:
            asked.append((models, self.lengths, self.batch_size, draw))
            return {label: Scores(one, *np.zeros((3, 4)), problems=1) for label, one in self.lengths.items()}

    monkeypatch.setattr("lantm.trained.trained.ProblemExaminer", Recorder)
    run = trained.folder.path
    lantm("eval", run, "--problems", 9, "--batch-size", 4, "--scales", 1)
    lantm("eval", run, "--draw", 7, "--weights", "last", "--lengths", 5)
    (best, first, batch_size, draw), (last, second, usual_size, other_draw) = asked
    assert (first, second) == ({"1x": Lengths(2, 4)}, {"1.25x": Lengths(5, 5)})
    assert (batch_size, usual_size) == (4, 32)
    assert draw == (9, EVALUATE, 1), "not those that were seen in training, in its tests, or in its final scores"
    assert other_draw == (3200, EVALUATE, 7)
    machines = load_run(trained.folder)
    np.testing.assert_array_equal(best.readout.weight, machines.best_weights.readout.weight)
    np.testing.assert_array_equal(last.readout.weight, machines.weights("last").readout.weight)
    assert (best.readout.weight != last.readout.weight).any()


def test_a_damaged_checkpoint_is_mentioned_and_the_one_before_it_used(
    lantm, copy_of_run: Callable[[], RunFolder]
) -> None:
    folder = copy_of_run()
    (folder.path / "checkpoints" / "epoch-000006.safetensors").write_bytes(b"")
    said = lantm("solve", folder.path, "abc", "--json")
    assert said.status == 0
    assert json.loads(said.out)["problem"] == "abc"
    assert said.err.count("\n") == 1
    assert "warning" in said.err
    assert "epoch-000006.safetensors is damaged" in said.err


def test_solve(lantm, trained) -> None:
    said = lantm("solve", trained.folder.path, "a [b]", "--json")
    assert (said.status, said.err) == (0, "")
    result = json.loads(said.out)
    assert result["problem"] == result["expected"] == "a [b]"
    assert result["symbols"] == 6
    assert result["right"] == (result["symbols_right"] == 6) == (result["answer"] == "a [b]")
    assert result["seed"] in range(4)
    assert json.loads(lantm("solve", trained.folder.path, "hello", "--seed", 2, "--json").out)["seed"] == 2
    text = lantm("solve", trained.folder.path, "a [b]").out
    assert text.startswith("problem\ncopy\n  a [b]\n=\na [b]∎\nLANTM prediction\n"), "brackets are no markup"
    assert "\n  :two: :smile:\n" in lantm("solve", trained.folder.path, ":two: :smile:").out, "nor are colons"
    assert "of 6 symbols are right" in text


def test_solve_a_long_problem(lantm, monkeypatch: pytest.MonkeyPatch) -> None:
    """From standard input, in lines that fit a terminal; --full has all of it."""
    text = "9" * 200 + " + 1"
    for flags in ((), ("--full",), ("--json",)):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{text}\n"))
        said = lantm("solve", "addition", "-", *flags)
        assert (said.status, said.err) == (0, "")
        lines = said.out.splitlines()
        if "--json" in flags:
            result = json.loads(said.out)
            assert (result["problem"], result["expected"], result["symbols"]) == (text, "1" + "0" * 200, 202)
        elif "--full" in flags:
            assert lines[1:3] == ["  " + "9" * 200, "+ " + "1".zfill(200)]
        else:
            assert max(map(len, lines)) <= 80
            assert lines[1].startswith("  99999")
            assert " more … " in lines[1]
            assert lines[2].endswith("00001")


PROBLEMS = [
    ("copy", "hello, world", 13, "hello, world"),
    ("reverse", "hello", 6, "olleh"),
    ("bigramFlip", "abcd", 5, "badc"),
    ("double", "829", 5, "1658"),
    ("addition", "423 + 94", 5, "517"),
    ("addition", "999+1", 5, "1000"),
    ("oddFirst", "abcdef", 7, "acebdf"),
    ("repeatCopy", "3:hello", 16, "hellohellohello"),
    ("prioritySort", "2:c 0:a 1:b", 4, "abc"),
    ("programs", "print((14*5608))", 6, "78512"),
]


@pytest.mark.parametrize(("task", "text", "symbols", "answer"), PROBLEMS)
def test_problems_as_people_write_them(task: str, text: str, symbols: int, answer: str) -> None:
    made = make_task(task)
    batch = made.encode(text)
    targets = np.asarray(batch.targets)[np.asarray(batch.mask)[:, 0], 0]
    assert len(targets) == symbols
    assert made.decode_answer(targets) == answer == made.expected(text)


def test_every_task_has_such_a_test() -> None:
    assert set(TASKS) == {task for task, *_ in PROBLEMS}


def test_flags_before_the_task_keep_its_defaults(
    lantm, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """The presets are those of the task, wherever it is written; the run folder gets a name of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("lantm.cli.train._train", lambda experiment, source, folder, *options: print(folder.path) or 0)
    for arguments in (("--seeds", 2, "addition"), ("addition", "--seeds", 2), ("--model", "lstm", "addition")):
        assert lantm("train", *arguments).status == 0
    paths = sorted((tmp_path / "runs").iterdir())
    assert [path.name for path in paths] == ["addition-lantm-invnorm", "addition-lantm-invnorm-2", "addition-lstm"]
    machines = [RunFolder.open(path).experiment().machine for path in paths]
    assert [machine.embedding for machine in machines] == [14, 14, 64]
    rates = [RunFolder.open(path).experiment().recipe.learning_rate for path in paths]
    assert rates == [0.01, 0.01, 0.0002]


@pytest.mark.parametrize("recipe", sorted({*RECIPES} - {"tuned"}))  # which is for other models
def test_a_recipe_is_what_studies_train(
    recipe: str, lantm, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """The recipe exact has lengths of its own too."""
    made: list[Experiment] = []
    monkeypatch.setattr("lantm.cli.train._train", lambda experiment, *rest: made.append(experiment) or 0)
    assert lantm("train", "addition", "--recipe", recipe, "--out", tmp_path / "run").status == 0
    assert made == [preset("addition", "lantm-invnorm", recipe)]


def test_a_task_with_options_is_shown_with_them(lantm, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    """Brackets are not taken for markup."""
    monkeypatch.setattr("lantm.cli.train.train", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    said = lantm("train", "bigramFlip[unit=bigrams]", "--out", tmp_path / "run")
    assert said.status == 130
    assert "on bigramFlip[unit=bigrams], recipe paper" in said.out
    assert said.err == "lantm: interrupted\n"


def test_the_demo_trains_solves_and_scores(lantm, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    called: list[list[str]] = []
    for name in ("train", "eval", "solve"):
        monkeypatch.setattr(f"lantm.cli.{name}.main", lambda words, name=name: called.append([name, *words]) or 0)
    (tmp_path / "demo").mkdir()
    said = lantm("demo", "--out", tmp_path / "demo", "--seeds", 2)
    run = str(tmp_path / "demo-2")
    assert said.status == 0
    assert called[0] == ["train", "copy", "--recipe", "demo", "--seeds", "2", "--out", run]
    assert called[1][:2] == ["solve", run]
    assert called[2][:5] == ["eval", run, "--scales", "1", "2"]
    assert f"lantm solve {run}" in said.out

    called.clear()
    monkeypatch.setattr("lantm.cli.train.main", lambda words: 130)
    assert lantm("demo", "--out", tmp_path / "demo").status == 130
    assert called == [], "what was interrupted is not scored"


@pytest.mark.thorough
def test_a_task_and_a_geometry_of_the_users_own(
    lantm, tiny_flags: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", sys.path[:])
    own = ["--geometry", "examples.helix:Helix", "--weighting", "invnorm[power=2]"]
    own += ["--epochs", 1, "--test-batches", 1, "--seeds", 1]
    said = lantm(
        "train", "examples.every_second:EverySecond", *tiny_flags[1:], *own, "--out", tmp_path / "run", "--json"
    )
    assert said.status == 0, said.err
    (row, _) = json.loads(said.out)
    assert row["task"] == "examples.every_second:EverySecond"
    arrays = named_arrays(load_run(RunFolder.open(tmp_path / "run", trust=True)).best_weights)
    assert arrays["layer.start.keys"].shape == (1, 2, 3), "keys in space, steps that turn and climb"
    assert arrays["layer.start.steps"].shape == (1, 2, 2)
    result = json.loads(lantm("solve", tmp_path / "run", "abcde", "--json", "--trust").out)
    assert (result["task"], result["expected"]) == ("everySecond", "ace")
