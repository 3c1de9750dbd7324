"""The list of all source files in docs/tree.md: each file's name and the first sentence of its docstring or comment."""

import ast
import pathlib
import re

# Folders of Python files in the order of the imports: each is used by those after it.
PARTS = (
    *(".", "geometry", "machine", "machine/weighting", "machine/index", "machine/kernel", "machine/peers"),
    *("tasks", "evaluation", "training", "trained", "report", "report/figures", "report/pages"),
    *("paper", "paper/presets", "grids", "grids/studies", "checking", "cli"),
)

# Folders of files in other languages: the part that they are listed after, and what they are.
ASSETS = "report/pages/assets"
OTHERS = {
    "machine/kernel/source": ("machine/kernel", "The sources of the kernels, in CUDA and C++."),
    ASSETS: ("report/pages", "The scripts of the pages."),
    f"{ASSETS}/engine": ("report/pages", "The machines in JavaScript: what a page needs to run them."),
    f"{ASSETS}/tasks": ("report/pages", "The tasks in JavaScript: reading a typed problem, drawing a random one."),
    f"{ASSETS}/viewer": ("report/pages", "The viewer of machines at work."),
}
SUFFIXES = {".cu", ".h", ".cc", ".js"}


def files(root: pathlib.Path) -> str:
    """A list per folder; a Python folder is described by its `__init__.py`."""
    package = root / "src" / "lantm"
    found = {str(path.parent.relative_to(package)) for path in package.rglob("*.py")}
    assert found == set(PARTS), f"name these folders in tools/source_tree.py: {found ^ set(PARTS)}"
    found = {str(path.parent.relative_to(package)) for path in package.rglob("*") if path.suffix in SUFFIXES}
    assert found == set(OTHERS), f"name these folders in tools/source_tree.py: {found ^ set(OTHERS)}"
    blocks = []
    for part in PARTS:
        folder = package / part
        lines = [
            f"- `{path.name}`: {_sentence(path)}" for path in sorted(folder.glob("*.py")) if path.stem != "__init__"
        ]
        if names := _public_names(folder / "__init__.py"):
            lines.insert(0, f"- `__init__.py`: defines {', '.join(f'`{name}`' for name in names)}.")
        blocks.append(_block(part, _sentence(folder / "__init__.py"), lines))
        for other, (after, description) in OTHERS.items():
            if after == part:
                paths = [path for path in sorted((package / other).iterdir()) if path.suffix in SUFFIXES]
                blocks.append(_block(other, description, [f"- `{path.name}`: {_comment(path)}" for path in paths]))
    return "\n\n".join(blocks)


def _block(part: str, description: str, lines: list[str]) -> str:
    title = "src/lantm/" if part == "." else f"src/lantm/{part}/"
    return "\n\n".join([f"### `{title}`", description, *(["\n".join(lines)] if lines else [])])


def _sentence(path: pathlib.Path) -> str:
    docstring = ast.get_docstring(ast.parse(path.read_text()))
    assert docstring, f"{path.name} has no docstring"
    return docstring.partition("\n\n")[0].replace("\n", " ")


def _public_names(path: pathlib.Path) -> list[str]:
    """The public names that a file defines itself."""
    names = []
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if not name.startswith("_") and name != "TYPE_CHECKING"]


def _comment(path: pathlib.Path) -> str:
    """The first sentence of the comment that a file begins with."""
    match = re.match(r"(?:// .*\n)+", path.read_text())
    assert match, f"{path.name} does not begin with a comment"
    comment = match[0].replace("\n// ", " ").removeprefix("// ").strip()
    return re.split(r"(?<=\.) ", comment)[0]
