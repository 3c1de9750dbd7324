"""`Corpus`: reads a text from three files (training, validation, test), such as the Penn Treebank.

The Penn Treebank is not part of this package. Its standard files with 10,000 words, `ptb.train.txt`, `ptb.valid.txt`
and `ptb.test.txt`, are in the folder `data` of Tomas Mikolov's "simple examples" for recurrent language models
(simple-examples.tgz). Any other text in three files is read in the same way.
"""

import hashlib
import pathlib
from collections import Counter
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Int

from lantm.errors import LantmError

END = "<eos>"
"""The word at the end of every line."""
UNKNOWN = "<unk>"
"""The word that replaces words outside the vocabulary."""

LARGEST_TEXT = 2**30
"""The maximum size of a text file in bytes: twice that of WikiText-103."""

Part = Literal["train", "valid", "test"]
PARTS: tuple[Part, ...] = ("train", "valid", "test")
_ENDINGS = (".txt", ".tokens")
_WANTED = (
    "train.txt, valid.txt and test.txt, optionally with a common prefix (the Penn Treebank's are ptb.train.txt, "
    "ptb.valid.txt and ptb.test.txt)"
)


class Corpus(NamedTuple):
    """The three parts of a text; words are indices into the vocabulary."""

    words: tuple[str, ...]  # the vocabulary, most frequent first
    train: Int[np.ndarray, " train"]
    valid: Int[np.ndarray, " valid"]
    test: Int[np.ndarray, " test"]

    @property
    def end(self) -> int:
        """The index of `<eos>` in the vocabulary."""
        return self.words.index(END)

    @property
    def digest(self) -> str:
        """A hash of the vocabulary and the three texts."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        for part in PARTS:
            digest.update(f"\n{part}\n".encode() + self.part(part).tobytes())
        return digest.hexdigest()

    def part(self, name: Part) -> Int[np.ndarray, " tokens"]:
        """The word indices of one part."""
        return {"train": self.train, "valid": self.valid, "test": self.test}[name]

    def check_columns(self, batch_size: int) -> None:
        """Raises a `LantmError` if a part has fewer words than columns."""
        shortest = min(PARTS, key=lambda part: len(self.part(part)))
        if (words := len(self.part(shortest))) < batch_size:
            raise LantmError(f"the {shortest} text has {words} words, fewer than the {batch_size} columns")

    def facts(self) -> dict[str, int]:
        """Vocabulary size, and the number of words and unknown words per part; line ends count as words."""
        unknown = self.words.index(UNKNOWN)
        return {
            "vocabulary": len(self.words),
            **{f"{part}_tokens": len(self.part(part)) for part in PARTS},
            **{f"{part}_unknown": int(np.sum(self.part(part) == unknown)) for part in PARTS},
        }


def read_corpus(folder: pathlib.Path, vocabulary: int = 10_000) -> Corpus:
    """Reads the three files of a folder.

    Words are separated by blanks. The vocabulary consists of the most frequent words of the training text, at most
    `vocabulary` including `<eos>` and `<unk>`.
    """
    if vocabulary < 3:
        raise LantmError(f"vocabulary is {vocabulary}: give a whole number of at least 3, as {END} and {UNKNOWN} count")
    files = {part: _find(folder, part) for part in PARTS}
    texts = {part: _read(path) for part, path in files.items()}
    counts = Counter(texts["train"])
    frequent = sorted(counts.keys() - {END, UNKNOWN}, key=lambda word: (-counts[word], word))[: vocabulary - 2]
    words = sorted([*frequent, END, UNKNOWN], key=lambda word: (-counts[word], word))
    numbers = {word: number for number, word in enumerate(words)}
    unknown = numbers[UNKNOWN]
    known = set(frequent)
    for part, text in texts.items():
        if known.isdisjoint(text):
            raise LantmError(
                f"{files[part]} has no word of the vocabulary of {files['train'].name}: "
                "the three files have to be parts of one text"
            )
    return Corpus(
        tuple(words),
        *(np.array([numbers.get(word, unknown) for word in texts[part]], np.int32) for part in PARTS),
    )


def _find(folder: pathlib.Path, part: str) -> pathlib.Path:
    """The file of a part of the text."""
    if not folder.is_dir():
        raise LantmError(f"there is no folder {folder}: give a folder with {_WANTED}")
    found = sorted(
        path
        for path in folder.iterdir()
        if path.suffix in _ENDINGS and (path.stem == part or path.stem.endswith(f".{part}"))
    )
    if not found:
        raise LantmError(f"{folder} has no {part}.txt: it needs {_WANTED}")
    if len(found) > 1:
        names = ", ".join(path.name for path in found)
        raise LantmError(f"{folder} has several texts ({names}): give a folder with one file for each part")
    return found[0]


def _read(path: pathlib.Path) -> list[str]:
    """The words of a file, with `<eos>` at the end of every line."""
    if path.exists() and not (path.is_file() or path.is_dir()):  # reading a pipe or device might not end
        raise LantmError(f"{path} is a pipe or a device, not a file: copy the text into a file")
    try:
        if (size := path.stat().st_size) > LARGEST_TEXT:
            raise LantmError(f"{path} has {size:,} bytes: a text has at most {LARGEST_TEXT:,}; give a part of it")
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise LantmError(f"{path} is not UTF-8 text (at byte {error.start}): convert it first") from error
    except OSError as error:
        raise LantmError(f"cannot read {path}: {error.strerror}") from error
    if "\0" in text:
        raise LantmError(f"{path} is not text: it has zero bytes, the first at character {text.index(chr(0))}")
    lines = text.split("\n")
    if not lines[-1].strip():  # nothing follows the last line break
        lines.pop()
    words = [word for line in lines for word in (*line.split(), END)]
    if all(word == END for word in words):
        raise LantmError(f"{path} is empty: it has no words")
    return words
