"""`STUDIES`: all studies by name. A new study is registered here."""

from lantm.grids.studies.geometries import GEOMETRIES, LANGUAGE_GEOMETRIES
from lantm.grids.studies.mechanisms import MECHANISMS
from lantm.grids.studies.programs import PROGRAMS
from lantm.grids.studies.second_paper import SECOND_PAPER
from lantm.grids.studies.sequences import GENERALISATION, SEQUENCES
from lantm.grids.studies.texts import LANGUAGE
from lantm.grids.studies.tweaks import TWEAKS
from lantm.grids.study import Study

_OF_THE_PAPER = (SEQUENCES, GENERALISATION, MECHANISMS, TWEAKS, GEOMETRIES, PROGRAMS, LANGUAGE, LANGUAGE_GEOMETRIES)
_ALL = (*_OF_THE_PAPER, SECOND_PAPER)
STUDIES: dict[str, Study] = {study.name: study for study in _ALL}
