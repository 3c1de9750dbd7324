"""Language modelling: a text read word by word, piece by piece, without an end (section 4.3 of the paper)."""

from lantm.language.corpus import Corpus, read_corpus
from lantm.language.experiment import LanguageExperiment, LanguageRecipe
from lantm.language.loop import LanguageProgress, LanguageResult, load_learners, open_corpus, train
from lantm.language.perplexity import Examiner, Perplexity

__all__ = [
    "Corpus",
    "Examiner",
    "LanguageExperiment",
    "LanguageProgress",
    "LanguageRecipe",
    "LanguageResult",
    "Perplexity",
    "load_learners",
    "open_corpus",
    "read_corpus",
    "train",
]
