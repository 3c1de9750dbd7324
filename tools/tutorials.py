"""Runs the tutorials in docs/tutorials and stores what their cells print (`make tutorials`), so that pages show it."""

import ast
import contextlib
import io
import json
import pathlib
import sys
import tempfile
from typing import Any

FOLDER = pathlib.Path(__file__).parent.parent / "docs" / "tutorials"


def outputs(cells: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """What each cell prints and shows, as notebooks store it. No kernel: it would take longer to start."""
    names: dict[str, object] = {"__name__": "tutorial"}
    return [_output(cell, names) if cell["cell_type"] == "code" else [] for cell in cells]


def _output(cell: dict[str, Any], names: dict[str, object]) -> list[dict[str, Any]]:
    code = ast.parse("".join(cell["source"]))
    last = code.body.pop() if code.body and isinstance(code.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, cell["id"], "exec"), names)
        value = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names) if last else None
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": printed.getvalue().splitlines(True)})
    if value is not None:
        shown = {"text/plain": repr(value).splitlines(True)}
        found.append({"data": shown, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return found


def text(output: dict[str, Any]) -> str:
    """An output as a page shows it."""
    return "".join(output["text"] if output["output_type"] == "stream" else output["data"]["text/plain"])


def main() -> None:
    for path in map(pathlib.Path, sys.argv[1:] or sorted(FOLDER.glob("*.ipynb"))):
        notebook = json.loads(path.read_text())
        with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
            found = outputs(notebook["cells"])
        for cell, output in zip(notebook["cells"], found, strict=True):
            if cell["cell_type"] == "code":
                cell["outputs"] = output
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")
        print(path.name)


if __name__ == "__main__":
    main()
