"""The studies there are, by name: a new one is a line here."""

from lantm.experiments.geometries import GEOMETRIES, LANGUAGE_GEOMETRIES
from lantm.experiments.language import LANGUAGE
from lantm.experiments.programs import PROGRAMS
from lantm.experiments.sequences import GENERALISATION, SEQUENCES
from lantm.experiments.study import Study
from lantm.experiments.tweaks import TWEAKS

_ALL = (SEQUENCES, GENERALISATION, TWEAKS, GEOMETRIES, PROGRAMS, LANGUAGE, LANGUAGE_GEOMETRIES)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}
