"""The machines of the zoo in PyTorch: one file without lantm, which answers as they do."""

import ast
import itertools
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.trained import load, zoo

ROOT = pathlib.Path(__file__).parent.parent


def test_it_needs_no_lantm() -> None:
    tree = ast.parse((ROOT / "examples" / "in_pytorch.py").read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    outside = {name.partition(".")[0] for name in imported} - {"collections", "itertools", "json", "sys"}
    assert outside == {"safetensors", "torch"}


# Every model, and a machine of the recipe robust.
SOME = ("copy-lantm-invnorm-robust", "bigramFlip-lantm-softmax", "programs-lstm")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SOME else pytest.mark.thorough) for name in zoo.names()]
)
def test_it_answers_as_ours_does(name: str) -> None:
    torch = pytest.importorskip("torch")
    from examples import in_pytorch

    ours = load(name)
    batch = ours.problem(min(12, ours.source.train_lengths.largest))
    steps, writes = int(batch.steps), int(batch.writes[0])
    inputs = np.asarray(batch.inputs)[:steps, 0].tolist()
    model = jax.tree.map(jnp.asarray, ours.model())
    expected = np.asarray(jax.jit(lambda model: model.trace(batch).logits)(model))[:steps, 0]
    theirs = in_pytorch.load(str(zoo.find(name)))
    with torch.no_grad():
        found = np.stack([one.numpy() for one in itertools.islice(theirs.steps(iter(inputs), writes), steps)])
    np.testing.assert_allclose(found, expected, atol=2e-4)
    answer = theirs.answer(inputs[1:writes], longest=steps - writes)
    told = expected[writes:].argmax(axis=-1).tolist()
    assert answer == list(itertools.takewhile(lambda symbol: symbol != theirs.marks + 2, told))
