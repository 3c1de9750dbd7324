"""How often a second draw of problems agrees with what was chosen on a first one.

python -m benchmarks.choices             in all stored results of studies: writes results/choices.json, trains nothing
python -m benchmarks.choices --retested  with `--retest-batches` and without: writes results/choices-retested.json

Of stored results: the best seed of a row was chosen on up to 3,200 problems of its own (`lantm.evaluation.choosing`),
and all seeds were then scored on others. The best weights of a seed were chosen by the tests during training, and they
and the last ones were then scored on problems that are in neither. A choice agrees if nothing is better on the second
draw, and nearly if nothing is better by more than one point. Where it does not, what it costs is what the best would
have had more.

With `--retested`, small machines are trained on short problems, in groups of four seeds with two starts each, by the
demo recipe, at a constant rate: so weights go on changing, and it matters which are chosen. All weights that a test
could choose are scored on the same further problems: those chosen should be the best of their machine, their start the
best of its seed, their seed the best of its group.
"""

import argparse
import dataclasses
import json
import pathlib
import tempfile
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.table import Table

from lantm.evaluation import ProblemExaminer, from_best, reporting
from lantm.files import write_json
from lantm.paper.presets import preset
from lantm.provenance import provenance
from lantm.training import Experiment, Progress, RunFolder, train
from lantm.training.learner import Learner
from lantm.training.starts import leading, load_learners

RESULT = pathlib.Path("results/choices.json")
RETESTED = pathlib.Path("results/choices-retested.json")
_NEARLY = 1.0  # points

TASK, LENGTHS = "copy[data_symbols=16]", (1, 6)
SEEDS, STARTS, RETEST_BATCHES, PROBLEMS = 4, 2, 100, 3200
SMALL = {"schedule": "constant", "epochs": 160, "test_every": 10, "batch_size": 16, "starts": STARTS}

Points = Float[np.ndarray, "tests machines"]


def lost(folder: pathlib.Path) -> dict[str, list[float]]:
    """By what was chosen: what the best of the second draw has more than the choice, in points, for every choice."""
    found: dict[str, list[float]] = {"best seed": [], "best seed, some solve it": [], "best weights": []}
    for path in sorted(folder.glob("*/*.json")):
        record = json.loads(path.read_text())
        rows = record.get("rows") if isinstance(record, dict) else None
        for row in rows if isinstance(rows, list) and "final" in record else ():
            score = record["experiment"]["recipe"].get("select_by", "coarse")
            if f"{score}_by_seed" not in row or "best_seed" not in row:
                continue
            by_seed = row[f"{score}_by_seed"]
            if len(by_seed) > 1:
                first = record["experiment"].get("first_seed", 0)
                less = max(by_seed) - by_seed[row["best_seed"] - first]
                found["best seed"].append(less)
                if row["solved"]:
                    found["best seed, some solve it"].append(less)
            if f"final_{score}" in row:
                found["best weights"].append(max(0.0, row[f"final_{score}"] - row[score]))
    return found


def summary(losses: list[float]) -> dict[str, Any]:
    """How often a choice agrees, and what it costs."""
    values = np.array(losses)
    return {
        "choices": len(values),
        "agrees": round(100 * float(np.mean(values == 0)), 1),
        "nearly": round(100 * float(np.mean(values <= _NEARLY)), 1),
        "mean_loss": round(float(values.mean()), 2),
        "loss_of_one_in_twenty": round(float(np.quantile(values, 0.95)), 2),
    }


def tested_weights(experiment: Experiment, scratch: pathlib.Path) -> tuple[list[Learner], list[int]]:
    """All machines after every test of a training, the end last, and the epochs of these tests."""
    source, kept = experiment.source(), dict[int, Learner]()
    folder = RunFolder.create(scratch, experiment, provenance())
    complete = False
    while not complete:  # stopped after every test, to look at its weights, and continued
        tested = False

        def watch(progress: Progress) -> None:
            nonlocal tested
            tested = progress.tested

        complete = train(experiment, folder, source, resume=True, watch=watch, stop=lambda: tested).complete  # noqa: B023
        epoch, learners, _ = load_learners(folder, experiment, source)
        kept[epoch] = learners
    return list(kept.values()), list(kept)


def points(experiment: Experiment, learners: Sequence[Learner]) -> Points:
    """The mean coarse score at all tested lengths, on problems that nothing was chosen by."""
    task = experiment.source()
    tests = {f"{scale}x": task.lengths_at(scale) for scale in experiment.recipe.test_scales}
    examine = ProblemExaminer(task, tests, experiment.machines)
    draw = reporting(PROBLEMS)
    found = [examine(one.model, one.seed, draw) for one in learners]
    return np.array([np.mean([scores.ranking("coarse")[0] for scores in one.values()], axis=0) for one in found])


def lost_in_training(experiment: Experiment, learner: Learner, epochs: Sequence[int], score: Points) -> dict[str, Any]:
    """As `lost`, of one training; and the points of the machine that it would show."""
    chosen = score[[epochs.index(epoch) for epoch in np.asarray(learner.best_epoch)], np.arange(score.shape[1])]
    leaders = leading(experiment, learner)
    by_seed = chosen.reshape(experiment.seeds, -1)
    shown = chosen[leaders[from_best(np.asarray(learner.best_score)[leaders])[0]]]
    return {
        "best weights": (score.max(axis=0) - chosen).tolist(),
        "best start": (by_seed.max(axis=1) - chosen[leaders]).tolist(),
        "best seed": [float(chosen[leaders].max() - shown)],
        "score": float(shown),
    }


def groups(number: int) -> Iterator[Experiment]:
    """So many trainings, without retesting."""
    small = preset(TASK, "lantm-invnorm", "demo")
    machine = dataclasses.replace(small.machine, cells=30)
    recipe = dataclasses.replace(small.recipe, **SMALL)
    small = dataclasses.replace(small, machine=machine, recipe=recipe, lengths=LENGTHS, seeds=SEEDS)
    for group in range(number):
        yield dataclasses.replace(small, first_seed=SEEDS * group)


def retested(number: int) -> Iterator[dict[str, Any]]:
    """What is lost with retesting and without, by what was chosen: after every group, of all so far."""
    names, losses, shown = ("tests alone", f"{RETEST_BATCHES} batches more"), dict[str, dict[str, list[float]]](), {}
    for plain in groups(number):
        recipe = dataclasses.replace(plain.recipe, retest_batches=RETEST_BATCHES)
        score = None
        for name, experiment in zip(names, (plain, dataclasses.replace(plain, recipe=recipe)), strict=True):
            with tempfile.TemporaryDirectory() as scratch:
                learners, epochs = tested_weights(experiment, pathlib.Path(scratch) / "run")
            # Retesting changes nothing but the choice: the weights to choose from are the same.
            score = points(experiment, learners) if score is None else score
            found = lost_in_training(experiment, learners[-1], epochs, score)
            shown.setdefault(name, []).append(found.pop("score"))
            for what, less in found.items():
                losses.setdefault(name, {}).setdefault(what, []).extend(less)
        print(f"seeds from {plain.first_seed}:", *(f"{scores[-1]:.2f}" for scores in shown.values()), flush=True)
        yield {
            name: {
                **{what: summary(less) for what, less in losses[name].items()},
                "score_of_best_seed": round(float(np.mean(shown[name])), 3),
            }
            for name in names
        }


def measure_retested(number: int, save: pathlib.Path) -> dict[str, Any]:
    """Trains, and writes the result after every group."""
    settings = {"task": TASK, "lengths": LENGTHS, "seeds": SEEDS, "recipe": SMALL, "retest_batches": RETEST_BATCHES}
    found: dict[str, Any] = {}
    for done, found in enumerate(retested(number), 1):
        command = f"python -m benchmarks.choices --retested --groups {done}"
        counts = {"groups": done, "problems_of_second_draw": PROBLEMS}
        write_json(save, {"command": command, **settings, **counts, "choices": found, **provenance()})
    return {f"{what}, {name}": row for name, of in found.items() for what, row in of.items() if isinstance(row, dict)}


def main() -> None:
    """Counts and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results"))
    parser.add_argument("--retested", action="store_true", help="train, with retesting and without")
    parser.add_argument("--groups", type=int, default=4, help="trainings to compare (default 4)")
    parser.add_argument("--save", type=pathlib.Path)
    chosen = parser.parse_args()
    if chosen.retested:
        rows = measure_retested(chosen.groups, chosen.save or RETESTED)
    else:
        rows = {name: summary(losses) for name, losses in lost(chosen.results).items() if losses}
        record = {"command": "python -m benchmarks.choices", "choices": rows, **provenance()}
        write_json(chosen.save or RESULT, record)
    table = Table("what", "choices", "agrees", "within a point", "mean loss", "1 in 20 loses")
    for name, row in rows.items():
        table.add_row(name, *(f"{value}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
