"""The list of all source files in docs/tree.md: each file's name and the first sentence of its docstring."""

import ast
import pathlib

# The order of the data flow: each part is used by those after it.
PARTS = (
    *(".", "geometry", "machine", "machine/weighting", "machine/index", "machine/kernel", "machine/peers"),
    *("tasks", "evaluation", "training", "trained", "report", "report/figures", "report/pages"),
    *("paper", "paper/presets", "grids", "grids/studies", "checking", "cli"),
)


def files(root: pathlib.Path) -> str:
    """A list per folder; a folder is described by its `__init__.py`."""
    package = root / "src" / "lantm"
    found = {str(path.parent.relative_to(package)) for path in package.rglob("*.py")}
    assert found == set(PARTS), f"name these folders in tools/source_tree.py: {found ^ set(PARTS)}"
    blocks = []
    for part in PARTS:
        folder = package / part
        title = "src/lantm/" if part == "." else f"{part}/"
        lines = [
            f"- `{path.name}`: {_sentence(path)}" for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"
        ]
        blocks.append(f"### `{title}`\n\n{_sentence(folder / '__init__.py')}\n\n" + "\n".join(lines))
    return "\n\n".join(blocks)


def _sentence(path: pathlib.Path) -> str:
    said = ast.get_docstring(ast.parse(path.read_text()))
    assert said, f"{path.name} does not say what it is"
    return said.partition("\n\n")[0].replace("\n", " ")
