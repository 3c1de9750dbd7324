"""`lantm verify`: exit status, table, JSON, and the first mistake explained."""

import json
import os
import pathlib
import subprocess
import sys

import hand_made
import pytest

from lantm.evaluation import Part, Verification
from lantm.machine import Lantm
from lantm.randomness import VERIFY, seed_key
from lantm.tasks import make_task
from lantm.trained import Trained

TASK = hand_made.TASK


def saved(model: Lantm, folder: pathlib.Path) -> pathlib.Path:
    return hand_made.trained(model).save(folder / "machine.safetensors")


def test_all_right(lantm, tmp_path: pathlib.Path) -> None:
    said = lantm("verify", saved(hand_made.exact(), tmp_path), "--length", 5, "--problems", 20)
    assert (said.status, said.err) == (0, "")
    rows = {row[:-5]: row[-5:] for line in said.out.splitlines() if len(row := tuple(line.split())) > 5}
    assert rows["random",][:2] == ("20", "20")
    assert rows["hard",][:3] == ("20", "20", "0.00-16.11%")
    assert all(f"  {kind}" in said.out for kind in TASK.hard_kinds)
    assert said.out.endswith("all 40 answers are right\n")
    assert max(map(len, said.out.splitlines())) <= 80


def test_a_mistake_is_explained(lantm, tmp_path: pathlib.Path) -> None:
    path = saved(hand_made.confusing("a", "b"), tmp_path)
    asked = ("verify", path, "--length", 200, "--problems", 8, "--random")
    said = lantm(*asked)
    assert said.status == 1
    told = json.loads(lantm(*asked, "--json").out)
    mistake = told["first_mistake"]
    assert "hard" not in told
    assert f"the first of them is problem {mistake['problem']}, random\nproblem\ncopy\n" in said.out
    at = mistake["symbol"] - mistake["around_from_symbol"]
    right, given = mistake["expected_around"][at], mistake["given_around"][at]
    assert {right, given} == {"a", "b"}
    assert f"the first mistake is symbol {mistake['symbol']}, where it says “{given}” instead of “{right}”" in said.out
    assert "The read line lies on the write line" in said.out, "what the heads did"
    assert max(map(len, said.out.splitlines())) <= 80
    # The problem can be looked at, and its first a or b is where the answer goes wrong.
    first = hand_made.trained(hand_made.confusing("a", "b")).verify(200, 8, hard=False).first_mistake
    assert first is not None
    text = TASK.decode_answer(first.targets)
    assert mistake["symbol"] - 1 == min(text.find(name) for name in "ab" if name in text)
    assert mistake["expected_around"] == text[mistake["around_from_symbol"] - 1 : mistake["symbol"] + 10]


def test_json(lantm, tmp_path: pathlib.Path) -> None:
    """Standard output is one object; the file has the origin besides."""
    path = saved(hand_made.endless(), tmp_path)
    asked = ("verify", path, "--length", 5, "--problems", 10, "--draw", 4, "--save", tmp_path / "new" / "result.json")
    said = lantm(*asked, "--json")
    assert (said.status, said.err) == (1, "")
    told = json.loads(said.out)
    assert (told["task"], told["model"], told["length"], told["draw"]) == ("copy", "lantm-invnorm", 5, 4)
    assert (told["right"], told["problems"], told["complete"]) == (0, 20, True)
    assert told["error_rate"] == pytest.approx([1 - 1.96**2 / (20 + 1.96**2), 1], abs=1e-6), "by Wilson, for none right"
    assert told["random"].keys() >= {"right", "problems", "error_rate", "seconds", "steps_per_second"}
    assert sum(kind["problems"] for kind in told["hard"]["kinds"].values()) == told["hard"]["problems"] == 10
    assert told["first_mistake"]["only_the_end"]
    assert (told["first_mistake"]["symbol"], told["first_mistake"]["symbols"]) == (6, 6)
    record = json.loads((tmp_path / "new" / "result.json").read_text())
    assert {name: record[name] for name in told} == told
    assert record["command"] == "lantm verify RUN --length 5 --problems 10 --draw 4 --json"
    assert str(tmp_path) not in json.dumps(record)
    assert record["scored"]["jax"]


@pytest.mark.thorough
def test_every_core_counts_the_same(lantm, tmp_path: pathlib.Path) -> None:
    """In a process of its own, problems are shared out over two devices; the first mistake is on the second one."""
    keys = [seed_key(1, VERIFY, 0, number) for number in range(64)]
    symbols = [symbol for key in keys for symbol in TASK.sample(key, 1, 2, 2).inputs[1:3, 0].tolist()]
    first = next(at for at in range(64, 128) if symbols[at] not in symbols[:64])
    never = next(symbol for symbol in range(TASK.data_symbols) if symbol not in symbols)
    path = saved(hand_made.confusing(TASK.alphabet[symbols[first]], TASK.alphabet[never]), tmp_path)
    asked = ["verify", str(path), "--length", "2", "--problems", "70", "--json"]
    apart = subprocess.run(
        [sys.executable, "-c", PROGRAM, *asked], env=os.environ, capture_output=True, text=True, check=False
    )
    devices, _, said = apart.stdout.partition("\n")
    here = lantm(*asked)
    assert (devices, apart.returncode, here.status) == ("2", 1, 1), apart.stderr
    told = untimed(json.loads(said))
    assert told == untimed(json.loads(here.out))
    assert told["first_mistake"]["problem"] == 1 + first // 2


PROGRAM = """
import sys
import jax
jax.config.update("jax_num_cpu_devices", 2)
print(jax.local_device_count(), flush=True)
from lantm.cli import main
sys.exit(main(sys.argv[1:]))
"""


def untimed(told: dict) -> dict:
    for part in ("random", "hard"):
        del told[part]["seconds"], told[part]["steps_per_second"]
    return told


def test_interrupted(lantm, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was counted is printed; without a mistake the status is that of an interruption."""
    verify = Trained.verify

    def interrupted(machines: Trained, *asked, watch, **more):
        def interrupt(name: str, part: Part) -> None:
            watch(name, part)
            raise KeyboardInterrupt

        return verify(machines, *asked, watch=interrupt, **more)

    monkeypatch.setattr(Trained, "verify", interrupted)
    said = lantm("verify", saved(hand_made.exact(), tmp_path), "--length", 5, "--problems", 40)
    assert said.status == 130
    assert "interrupted after 32 problems" in said.out
    assert "all 32 answers are right" in said.out
    monkeypatch.setattr(Trained, "verify", lambda *asked, **more: Verification(5, 1, Part({}), None, None, False))
    said = lantm("verify", saved(hand_made.exact(), tmp_path), "--length", 5, "--problems", 40)
    assert said.status == 130
    assert "interrupted after 0 problems" in said.out
    assert "right:" not in said.out
    assert "answers are right" not in said.out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("copy", "--length INT is missing"),
        ("copy --length 0", "no problems of length 0"),
        ("bigramFlip --length 5", "use a multiple of 2, as 4 or 6"),
        ("copy --length 1000001", "use up to 1,000,000"),
        ("copy --length 4 --problems 0", "problems is 0: give a whole number from 1 to 10,000,000"),
        ("copy --length 4 --draw -1", "draw is -1"),
        ("copy --length 4 --seed 99", "no seed 99"),
        ("copy --length 4 --weights last", "only the best weights are stored"),
        ("nowhere --length 4", "nowhere is not a run folder"),
    ],
)
def test_what_cannot_be_verified(refused, arguments: str, reason: str) -> None:
    assert reason in refused("verify", *arguments.split())


def test_a_text_is_not_verified(refused, trained_text) -> None:
    assert "a text has no answers to verify" in refused("verify", trained_text.folder.path, "--length", 3)


def test_a_task_without_hard_problems(refused, lantm, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(make_task("copy")), "hard_draws", lambda task: {})
    path = saved(hand_made.exact(), tmp_path)
    assert "copy has no hard problems: ask for random ones" in refused("verify", path, "--length", 3, "--hard")
    told = json.loads(lantm("verify", path, "--length", 5, "--problems", 2, "--json").out)
    assert (told["problems"], "hard" in told) == (2, False)
    assert told["random"]["right"] == 2
