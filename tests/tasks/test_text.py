"""A text as a source: stretches of its words, as problems are of a task."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks import Corpus, Source, Task, Text, make_task


@pytest.fixture
def text(corpus: Corpus) -> Text:
    return Text(corpus, steps=4)


def words(text: Text, numbers: np.ndarray) -> str:
    return " ".join(text.symbol_name(int(number)) for number in numbers)


def test_both_kinds_of_source_have_what_a_source_has(text: Text) -> None:
    assert isinstance(text, Source)
    assert isinstance(make_task("copy"), Source)
    assert not isinstance(text, Task)


def test_its_facts(text: Text, corpus: Corpus) -> None:
    assert text.name == "text"
    assert text.vocabulary == text.data_symbols == len(corpus.words) == 14
    assert text.symbol_name(text.end_of_output) == "<eos>"
    assert (text.train_lengths.smallest, text.train_lengths.largest) == (4, 4), "the words of a piece"
    assert text.longest_length == len(corpus.valid) == 105


# Stretches.


def test_samples_are_stretches_of_the_validation_text(text: Text, corpus: Corpus) -> None:
    batch = text.sample(jax.random.key(0), 50, 6, 6)
    assert batch.inputs.shape == batch.targets.shape == (6, 50)
    valid = words(text, corpus.valid)
    inputs, targets = np.asarray(batch.inputs), np.asarray(batch.targets)
    np.testing.assert_array_equal(inputs[1:], targets[:-1], "after every word the next")
    for column in range(50):
        assert words(text, targets[:, column]) in valid
    firsts = {words(text, np.concatenate([inputs[:1, column], targets[:, column]])) for column in range(50)}
    assert len(firsts) > 25, "at random places"
    assert all(f"<eos> {valid}".find(first) >= 0 for first in firsts), "before it the word before it"


def test_every_step_reads_writes_and_answers(text: Text) -> None:
    batch = text.sample(jax.random.key(0), 3, 6, 6)
    assert np.asarray(batch.mask).all()
    assert (int(batch.steps), batch.writes.tolist()) == (6, [6, 6, 6])
    assert (batch.write_capacity, batch.answer_capacity) == (6, 6)


def test_lengths_that_differ_are_masked(text: Text) -> None:
    batch = text.sample(jax.random.key(0), 3, jnp.array([2, 5, 3]), 8)
    assert np.asarray(batch.mask).sum(axis=0).tolist() == batch.writes.tolist() == [2, 5, 3]
    assert np.asarray(batch.mask)[:2].all()
    assert int(batch.steps) == 5
    assert batch.inputs.shape == (8, 3)


def test_the_whole_validation_text_is_one_stretch(text: Text, corpus: Corpus) -> None:
    batch = text.sample(jax.random.key(0), 1, text.longest_length, text.longest_length)
    np.testing.assert_array_equal(batch.targets[:, 0], corpus.valid)
    assert int(batch.inputs[0, 0]) == corpus.end, "the very first word follows an end of line"


def test_a_validation_text_that_is_shorter_than_a_piece(corpus: Corpus) -> None:
    """Recordings of a training on it are as long as it is."""
    short = Text(corpus._replace(valid=corpus.valid[:7]), 20)
    length = short.train_lengths.largest
    batch = short.sample(jax.random.key(0), 1, length, length)
    np.testing.assert_array_equal(batch.targets[:, 0], corpus.valid[:7])
    without = Text(corpus._replace(valid=corpus.valid[:0]), 20)  # as of a machine's file
    assert without.train_lengths.largest == 20


def test_samples_are_drawn_under_jit(text: Text) -> None:
    plain = text.sample(jax.random.key(7), 2, 5, 5)
    compiled = jax.jit(lambda key, length: text.sample(key, 2, length, 5))(jax.random.key(7), jnp.asarray(5))
    jax.tree.map(np.testing.assert_array_equal, compiled, plain)


@pytest.mark.parametrize("length", [0, -1, 106])
def test_lengths_that_there_are_not(text: Text, length: int) -> None:
    with pytest.raises(LantmError, match=rf"no {length} words in a row: use 1 to 105"):
        text.check_length(length)
    text.check_length(1)
    text.check_length(105)


# What a person writes.


def test_words_of_a_person(text: Text) -> None:
    """The first guess is made before any word; after the last, nobody knows what comes."""
    batch = text.encode("  the head\nreads a newspaper ")
    assert words(text, batch.inputs[:, 0]) == "<eos> the head reads a <unk>"
    assert words(text, batch.targets[:, 0]) == "the head reads a <unk> <unk>"
    assert np.asarray(batch.mask).all()
    assert (int(batch.steps), batch.writes.tolist()) == (6, [6])


@pytest.mark.parametrize("nothing", ["", "  \n "])
def test_no_words(text: Text, nothing: str) -> None:
    with pytest.raises(LantmError, match="no words to read: give at least one"):
        text.encode(nothing)


def test_more_words_than_fit(text: Text) -> None:
    with pytest.raises(LantmError) as caught:
        text.encode("head " * 100_000)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


# Pieces.


def test_parts_are_cut_into_pieces_of_its_steps(text: Text, corpus: Corpus) -> None:
    for part, tokens in (("train", 420), ("valid", 105), ("test", 77)):
        pieces = text.pieces(part, 5)
        assert pieces.inputs.shape[1:] == (4, 5)
        assert int(np.asarray(pieces.mask).sum()) == len(corpus.part(part)) == tokens
    longer = dataclasses.replace(text, steps=10).pieces("train", 5)
    assert longer.inputs.shape == (9, 10, 5)
