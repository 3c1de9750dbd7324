"""A trained machine: which seed is the best, and what it does: scores, answers, traces, files."""

import dataclasses
import pathlib

import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.evaluation import Hard, Perplexity, ProblemExaminer, Scores, reporting
from lantm.geometry import Translation
from lantm.machine import parameter_count
from lantm.tasks import Copy, make_task
from lantm.trained import Trained, lengths_or_parts, load, usual_name
from lantm.training import Experiment, Member, train


def with_merits(run: Trained, *merits: float) -> Trained:
    return dataclasses.replace(run, merits=np.array(merits))


def test_the_best_seed_is_the_one_with_the_best_test(trained) -> None:
    run = with_merits(trained.machines, 5.0, 7.0, 50.0, 7.0)
    assert run.index() == 2
    assert list(run.best.seeds) == [2]
    np.testing.assert_array_equal(run.best.model().embedding, run.model(2).embedding)
    np.testing.assert_array_equal(run.model().embedding, run.model(2).embedding)
    run = with_merits(trained.machines, -np.inf, 7.0, -np.inf, 1.0)
    assert run.index() == 1


def test_one_seed_alone_is_as_it_was_among_others(trained) -> None:
    run = trained.machines
    alone = run.seed(3)
    assert alone.experiment == dataclasses.replace(run.experiment, seeds=1, first_seed=3)
    assert (alone.start_seeds.tolist(), alone.merits.tolist()) == ([3], [run.merits[3]])
    assert alone.best_epochs.tolist() == [run.best_epochs[3]]
    scores, of_all = alone.scores((1,), problems=32)["1x"], run.scores((1,), problems=32)["1x"]
    assert isinstance(scores, Scores)
    assert isinstance(of_all, Scores)
    assert (scores.fine[0], scores.coarse[0]) == (of_all.fine[3], of_all.coarse[3])
    np.testing.assert_array_equal(alone.model(which="last").embedding, run.weights("last").embedding[3])
    with pytest.raises(LantmError, match="there is no seed 4: the run has 0 to 3"):
        run.seed(4)
    with pytest.raises(LantmError, match="there is no seed 4"):
        run.solve("ab", seed=4)
    with pytest.raises(LantmError, match="there is no seed 0: the run has seed 3 alone"):
        alone.seed(0)


def test_it_is_shown_in_one_line(trained) -> None:
    run = dataclasses.replace(trained.machines, name="runs/copy")
    assert repr(run) == "<runs/copy: lantm-invnorm on copy, recipe paper, seeds 0 to 3, epoch 6>"
    assert "seed 2, epoch 6" in repr(run.seed(2))
    assert run.history is not None
    assert repr(run.history).startswith("<History of 6 epochs, seeds: 4, best loss ")
    assert len(repr(run.history)) < 200


def test_a_member_has_its_own_rate(trained) -> None:
    rates = (0.1, 0.2, 0.3, 0.4)
    members = tuple(Member(10 + at, rate) for at, rate in enumerate(rates))
    experiment = dataclasses.replace(trained.experiment, members=members)
    run = dataclasses.replace(trained.machines, experiment=experiment, start_seeds=np.arange(10, 14))
    alone = run.seed(2).experiment
    assert (alone.first_seed, alone.recipe.learning_rate, alone.members) == (12, 0.3, ())


def test_the_last_weights(trained, tmp_path: pathlib.Path) -> None:
    run = trained.machines
    np.testing.assert_array_equal(run.weights("last").embedding, trained.result.learners.model.embedding)
    machine = load(run.save(tmp_path / "one.safetensors"))
    with pytest.raises(LantmError, match="only the best weights are stored"):
        machine.weights("last")


def test_scores_are_those_of_the_examiner(trained) -> None:
    run, task = trained.machines, trained.experiment.build_task()
    scores = run.scores((1, 2), problems=64)
    tests = {"1x": task.lengths_at(1), "2x": task.lengths_at(2)}
    expected = ProblemExaminer(task, tests, 4)(run.best_weights, run.start_seeds, reporting(64))
    assert scores.keys() == expected.keys()
    for label, one in expected.items():
        np.testing.assert_array_equal(scores[label].fine, one.fine)
    exact = run.scores(lengths=(3,), problems=64)
    assert exact.keys() == {"0.75x"}
    assert (exact["0.75x"].lengths.smallest, exact["0.75x"].lengths.largest) == (3, 3)
    others = run.scores((1,), problems=64, draw=2)["1x"]
    assert others.fine.tolist() != scores["1x"].fine.tolist(), "another draw gives other problems"
    last = run.scores((1,), problems=64, which="last")["1x"]
    assert last.fine.tolist() != scores["1x"].fine.tolist()


def test_scores_on_another_task_of_the_same_symbols(trained) -> None:
    reverse = make_task("reverse")
    assert trained.machines.scores(lengths=(2,), problems=32, task=reverse)["0.0312x"].lengths.largest == 2


def test_where_to_score() -> None:
    copy = make_task("copy")
    assert list(lengths_or_parts(copy)) == [f"{scale}x" for scale in copy.usual_scales]
    assert list(lengths_or_parts(copy, lengths=(32,))) == ["0.5x"]
    assert lengths_or_parts(copy, scales=(2,))["2x"] == copy.lengths_at(2)
    both = lengths_or_parts(copy, scales=(2,), lengths=(32,), hard=True)
    assert list(both) == ["2x", "2x hard", "0.5x", "0.5x hard"]
    assert both["2x hard"] == Hard(copy.lengths_at(2))
    with pytest.raises(LantmError, match="use up to 1,000,000"):
        lengths_or_parts(copy, lengths=(10**7,))


@pytest.mark.thorough
def test_hard_problems_are_scored_beside_random_ones(trained) -> None:
    run = trained.machines
    random, both = (run.scores((1,), problems=64, hard=hard) for hard in (False, True))
    assert list(both) == ["1x", "1x hard"]
    np.testing.assert_array_equal(both["1x"].fine, random["1x"].fine)
    assert both["1x hard"].fine.tolist() != random["1x"].fine.tolist()
    assert tuple(both["1x hard"].kinds) == run.source.hard_kinds


def test_a_task_without_hard_problems_says_so(trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Copy, "hard_draws", lambda self: {})
    with pytest.raises(LantmError, match="copy has no hard problems: leave out --hard"):
        trained.machines.scores((1,), hard=True)


def test_problems_and_traces(trained) -> None:
    run = trained.machines
    longest = run.problem()
    assert int(longest.steps) == 10, "of the longest length trained on, 4, with markers, and the answer"
    assert int(run.problem(length=2).steps) == 6
    assert run.problem(draw=1).inputs.tolist() != longest.inputs.tolist()
    recording = run.trace(seed=1)
    assert recording.inputs.tolist() == longest.inputs[: recording.steps, 0].tolist()
    written = run.trace("ab", seed=1, read_weights=True)
    assert written.predicted.tolist() == run.solve("ab", seed=1).symbols
    assert written.heads is not None
    assert written.heads.keys.shape == (6, 2, 2)
    assert written.heads.read_weights is not None
    last = run.trace("ab", seed=1, which="last")
    assert last.heads is not None
    assert not np.array_equal(last.heads.keys, written.heads.keys)
    with pytest.raises(LantmError, match="use up to 1,000,000"):
        run.problem(length=10**7)
    few = dataclasses.replace(run, source=make_task("prioritySort"))
    for asked in (few.problem, few.verify, lambda length: few.scores(lengths=(length,))):
        with pytest.raises(LantmError, match="prioritySort has no problems of length 1,001: use up to 1,000"):
            asked(length=1001)


@pytest.mark.parametrize("draw", [-1, 2**31])
def test_no_such_draw(trained, draw: int) -> None:
    run = trained.machines
    for asked in (run.problem, run.scores, lambda draw: run.verify(4, draw=draw)):
        with pytest.raises(LantmError, match=f"draw is {draw}: give a whole number from 0 to 2147483647"):
            asked(draw=draw)


def test_nothing_to_verify(trained) -> None:
    with pytest.raises(LantmError, match="there is nothing to verify: ask for random problems, hard ones or both"):
        trained.machines.verify(4, random=False, hard=False)


def test_what_it_is(trained) -> None:
    run = trained.machines
    assert isinstance(run.geometry, Translation)
    assert run.parameters == parameter_count(run.model(0))
    assert load("programs-lstm").geometry is None
    mine = dataclasses.replace(run.experiment, task="a.b:C[d=1]")
    assert usual_name(mine) == "a-b-C-d-1--lantm-invnorm"


def test_a_machine_is_saved_and_loaded(trained, tmp_path: pathlib.Path) -> None:
    run = with_merits(trained.machines, 0.0, 1.0, 0.0, 0.0)
    path = run.save(tmp_path / "mine.safetensors", remark="hello")
    machine = load(path)
    assert (machine.name, list(machine.seeds), machine.notes["remark"]) == ("mine", [1], "hello")
    assert machine.solve("ab") == run.solve("ab", seed=1)
    again = load(machine.save(tmp_path / "again.safetensors"))
    np.testing.assert_array_equal(again.model().embedding, machine.model().embedding)
    assert (again.experiment, again.epoch, again.trained) == (machine.experiment, machine.epoch, machine.trained)
    with pytest.raises(LantmError, match=r"has to end in \.safetensors"):
        run.save(tmp_path / "mine.pickle")


@pytest.mark.thorough
def test_a_training_without_a_folder(tiny: Experiment, trained, tmp_path: pathlib.Path) -> None:
    short = dataclasses.replace(tiny, seeds=1, recipe=dataclasses.replace(tiny.recipe, epochs=2))
    run = Trained.of_result(train(short))
    assert (run.name, run.epoch, run.complete, run.folder) == ("copy-lantm-invnorm", 2, True, None)
    assert run.history is not None
    assert run.history.loss.shape == (2, 1)
    machine = load(run.save(tmp_path / "mine.safetensors"))
    assert machine.solve("ab") == run.solve("ab")
    assert machine.trained == {}


# Texts.


def test_the_best_reader_has_the_best_validation(reader: Trained) -> None:
    assert reader.history is not None
    best = reader.history.tests["validation"].figures["perplexity"].min(axis=0)
    assert list(reader.best.seeds) == [3 + int(np.argmin(best))]
    scores = reader.scores()
    assert scores.keys() == {"validation", "test"}
    assert isinstance(scores["validation"], Perplexity)
    np.testing.assert_allclose(scores["validation"].values, best, atol=1e-3)
    alone = reader.best.scores()["test"]
    assert isinstance(alone, Perplexity)
    assert alone.losses[0] == scores["test"].losses[reader.index()]
    for asked in ({"scales": (1,)}, {"lengths": (3,)}):
        with pytest.raises(LantmError, match="a text has no lengths to score at"):
            reader.scores(**asked)


def test_a_reader_at_work(reader: Trained) -> None:
    recording = reader.trace("the head reads", seed=4, read_weights=True)
    assert recording.steps == 4, "the end of the line before, and three words"
    assert recording.answer_start == 0
    assert recording.predicted.tolist() == reader.solve("the head reads", seed=4).symbols
    stretch = reader.problem(length=7)
    assert int(stretch.steps) == 7
    assert reader.trace(stretch).steps == 7
    with pytest.raises(LantmError, match="the validation text has no 1,000 words in a row"):
        reader.problem(length=1000)
