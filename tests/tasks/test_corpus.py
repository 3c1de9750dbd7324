"""Three files as numbers of words; what is no such text is said in one line."""

import os
import pathlib
import shutil

import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks import Corpus, read_corpus

TEXTS = {
    "train": "the cat sat\n the cat <unk> \n\nthe end\n",
    "valid": "the dog sat\n",
    "test": "cat\nthe",  # the last line has no end
}


def write(folder: pathlib.Path, **texts: str | bytes) -> pathlib.Path:
    for part, text in (TEXTS | texts).items():
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"{part}.txt").write_bytes(data)
    return folder


def words(corpus: Corpus, part: str) -> str:
    return " ".join(corpus.words[number] for number in corpus.part(part))


def test_words_and_line_ends(tmp_path: pathlib.Path) -> None:
    corpus = read_corpus(write(tmp_path))
    assert words(corpus, "train") == "the cat sat <eos> the cat <unk> <eos> <eos> the end <eos>"
    assert words(corpus, "valid") == "the <unk> sat <eos>"
    assert words(corpus, "test") == "cat <eos> the <eos>"
    # The most frequent first, equals in the order of the alphabet.
    assert corpus.words == ("<eos>", "the", "cat", "<unk>", "end", "sat")
    assert corpus.words[corpus.end] == "<eos>"
    assert corpus.facts() == {
        "vocabulary": 6,
        "train_tokens": 12,
        "valid_tokens": 4,
        "test_tokens": 4,
        "train_unknown": 1,
        "valid_unknown": 1,
        "test_unknown": 0,
    }


def test_rare_words_are_unknown(tmp_path: pathlib.Path) -> None:
    corpus = read_corpus(write(tmp_path), vocabulary=4)
    assert corpus.words == ("<eos>", "the", "cat", "<unk>")
    assert words(corpus, "train") == "the cat <unk> <eos> the cat <unk> <eos> <eos> the <unk> <eos>"
    with pytest.raises(LantmError, match="vocabulary is 2: give a whole number of at least 3"):
        read_corpus(tmp_path, vocabulary=2)


def test_a_text_without_unknown_words_can_be_asked_for_one(tmp_path: pathlib.Path) -> None:
    corpus = read_corpus(write(tmp_path, train="the cat\n"))
    assert set(corpus.words) == {"<eos>", "the", "cat", "<unk>"}
    assert words(corpus, "valid") == "the <unk> <unk> <eos>"


def test_names_and_line_endings_of_others(tmp_path: pathlib.Path) -> None:
    expected = read_corpus(write(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    for part, text in TEXTS.items():
        (other / f"wiki.{part}.tokens").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    (other / "README.txt").write_text("not of the text")
    assert read_corpus(other).digest == expected.digest


def test_the_digest_tells_texts_apart(tmp_path: pathlib.Path) -> None:
    digest = read_corpus(write(tmp_path)).digest
    assert read_corpus(write(tmp_path)).digest == digest
    assert read_corpus(write(tmp_path, test="the\ncat\n")).digest != digest
    assert read_corpus(write(tmp_path, train=TEXTS["train"].replace("sat", "sits"))).digest != digest


@pytest.mark.parametrize("part", TEXTS)
def test_a_missing_file(tmp_path: pathlib.Path, part: str) -> None:
    write(tmp_path)
    (tmp_path / f"{part}.txt").unlink()
    with pytest.raises(LantmError, match=rf"has no {part}\.txt: it needs .*ptb\.train\.txt"):
        read_corpus(tmp_path)


@pytest.mark.parametrize("part", TEXTS)
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", r"{part}\.txt is empty"),
        (b" \n \n", r"{part}\.txt is empty"),
        (b"the cat \xff sat", r"{part}\.txt is not UTF-8 text \(at byte 8\)"),
        (b"the c\0t", r"{part}\.txt is not text: it has zero bytes, the first at character 5"),
        ("the".encode("utf-16"), r"{part}\.txt is not UTF-8 text \(at byte 0\)"),
    ],
)
def test_a_file_that_is_no_text(tmp_path: pathlib.Path, part: str, data: bytes, reason: str) -> None:
    write(tmp_path, **{part: data})
    with pytest.raises(LantmError, match=reason.format(part=part)) as caught:
        read_corpus(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_text_in_another_language(tmp_path: pathlib.Path) -> None:
    write(tmp_path, test="un chien <unk>\n")
    with pytest.raises(LantmError, match=r"test\.txt has no word of the vocabulary of train\.txt"):
        read_corpus(tmp_path)


def test_folders_that_are_none_or_hold_too_much(tmp_path: pathlib.Path) -> None:
    with pytest.raises(LantmError, match=r"there is no folder .*nowhere"):
        read_corpus(tmp_path / "nowhere")
    write(tmp_path)
    shutil.copy(tmp_path / "train.txt", tmp_path / "b.train.txt")
    with pytest.raises(LantmError, match=r"several texts \(b\.train\.txt, train\.txt\)"):
        read_corpus(tmp_path)
    (tmp_path / "b.train.txt").unlink()
    (tmp_path / "test.txt").unlink()
    (tmp_path / "test.txt").mkdir()
    with pytest.raises(LantmError, match=r"cannot read .*test\.txt: Is a directory"):
        read_corpus(tmp_path)


def test_a_text_that_is_too_large_is_not_read(tmp_path: pathlib.Path) -> None:
    write(tmp_path)
    with open(tmp_path / "valid.txt", "wb") as file:
        file.truncate(2**30 + 1)
    with pytest.raises(LantmError, match=r"valid\.txt has 1,073,741,825 bytes: a text has at most 1,073,741,824"):
        read_corpus(tmp_path)


def test_a_pipe_is_refused(tmp_path: pathlib.Path) -> None:
    """Reading it would wait for somebody to write."""
    write(tmp_path)
    (tmp_path / "valid.txt").unlink()
    os.mkfifo(tmp_path / "valid.txt")
    with pytest.raises(LantmError, match=r"valid\.txt is a pipe or a device, not a file"):
        read_corpus(tmp_path)


def test_numbers_are_small(tmp_path: pathlib.Path) -> None:
    assert read_corpus(write(tmp_path)).train.dtype == np.int32
