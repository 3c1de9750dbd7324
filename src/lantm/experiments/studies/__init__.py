"""The studies there are, by name: a new one is a line here."""

from lantm.experiments.studies.geometries import GEOMETRIES, LANGUAGE_GEOMETRIES
from lantm.experiments.studies.language import LANGUAGE
from lantm.experiments.studies.programs import PROGRAMS
from lantm.experiments.studies.sequences import GENERALISATION, SEQUENCES
from lantm.experiments.studies.tweaks import TWEAKS
from lantm.experiments.study import Study

_ALL = (SEQUENCES, GENERALISATION, TWEAKS, GEOMETRIES, PROGRAMS, LANGUAGE, LANGUAGE_GEOMETRIES)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}
