"""The studies there are, by name: a new one is a line here."""

from lantm.experiments.language import LANGUAGE
from lantm.experiments.programs import PROGRAMS
from lantm.experiments.sequences import GENERALISATION, SEQUENCES
from lantm.experiments.study import Study
from lantm.experiments.tweaks import TWEAKS

STUDIES: dict[str, Study] = {study.name: study for study in (SEQUENCES, GENERALISATION, TWEAKS, PROGRAMS, LANGUAGE)}
