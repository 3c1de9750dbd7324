"""The engine of the pages outside of a page: scripts run by node, with JSON in and JSON out."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from lantm.batch import Batch
from lantm.machine import Model
from lantm.report.pages.document import joined
from lantm.report.pages.weights import ENGINE, pack_machine, pack_problem

NODE = os.environ.get("NODE") or shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="no node: install nodejs, or set NODE to one")


def in_node(body: str, given: Any, scripts: Sequence[str] = ENGINE) -> Any:
    """What the JavaScript `body` returns, as the body of an async function of `given`."""
    program = f"""
        "use strict";
        const text = require("fs").readFileSync(0, "utf8");
        {joined(scripts)}
        (async (given) => {{ {body} }})(JSON.parse(text)).then((found) => process.stdout.write(JSON.stringify(found)));
    """
    run = [str(NODE), "--stack-size=2000", "-e", program]
    done = subprocess.run(run, input=json.dumps(given), capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


LOGITS = """
    const found = [];
    for (const { machine, problems, double } of given) {
        const ready = await unpackedMachine(machine, double ? Float64Array : Float32Array);
        for (const { inputs, expected } of problems) {
            const work = new Work(ready, inputs, expected);
            const logits = [];
            while (!work.done) logits.push(Array.from(work.step().logits));
            found.push(logits);
        }
    }
    return found;
"""


def engine_logits(cases: Sequence[tuple[Model, Batch]], double: bool = False) -> list[list[np.ndarray]]:
    """For every model, the logits of every problem of its batch, cut to the problem's steps."""
    asked = [{"machine": pack_machine(model), "problems": _problems(batch), "double": double} for model, batch in cases]
    assert all(one["machine"] is not None for one in asked)
    found = iter(in_node(LOGITS, asked))
    return [[np.array(next(found)) for _ in one["problems"]] for one in asked]


def _problems(batch: Batch) -> list[dict[str, list[int]]]:
    return [pack_problem(batch, problem) for problem in range(batch.inputs.shape[1])]
