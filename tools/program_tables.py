"""Tables of docs/programs.md as Markdown, besides those of the study: what each kind of program comes to, and costs."""

import json
import pathlib
from typing import Any

from study_tables import MODEL_NAMES, table


def kinds(root: pathlib.Path) -> str:
    """Coarse/fine of the zoo's machines, by kind and number of digits."""
    path = root / "results" / "program-kinds.json"
    if not path.exists():
        return "Not run yet: `python -m benchmarks.program_kinds` does it."
    record = json.loads(path.read_text())
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in record["rows"]:
        found.setdefault((row["kind"], row["model"]), []).append(row)
    models = list(dict.fromkeys(model for _, model in found))
    digits = list(dict.fromkeys(row["digits"] for row in record["rows"]))
    head = ["kind"]
    for model in models:
        name = (
            f"{MODEL_NAMES[model]}, `{next(iter(rows for key, rows in found.items() if key[1] == model))[0]['recipe']}`"
        )
        head += [f"{name}: {digits[0]} digits", *map(str, digits[1:])]
    rows = [
        [kind, *(f"{row['coarse']:.0f}/{row['fine']:.0f}" for model in models for row in found[kind, model])]
        for kind in dict.fromkeys(kind for kind, _ in found)
    ]
    note = f"{record['rows'][0]['problems']:,} fresh programs a figure"
    return f"{table(head, rows)}\n\n<sub>{note}; {_origin(path, record)}</sub>"


def places(root: pathlib.Path) -> str:
    """Which digits of an answer are right, from the last to the first."""
    path = root / "results" / "program-places.json"
    if not path.exists():
        return "Not run yet: `python -m benchmarks.program_places` does it."
    record = json.loads(path.read_text())
    most = max(row["answer_digits"] for row in record["rows"])
    rows = []
    for row in record["rows"]:
        right = [*row["right"], *[None] * (most - row["answer_digits"]), row["right_sign"], row["right_end"]]
        shown = ["" if percent is None else f"{percent:.0f}" for percent in (row["whole"], *right)]
        taught = ", loops alone" if "kinds-loop" in row["machine"] else ""
        rows.append([f"{row['kind']}, `{row['operator']}`", f"{MODEL_NAMES[row['model']]}{taught}", *shown])
    places_of_digits = ["last digit", *(f"{at} before" for at in range(1, most))]
    head = ["programs", "model", "answers right", *places_of_digits, "sign", "end"]
    sizes = {f"{row['kind']} {row['answer_digits']}": None for row in record["rows"]}
    fewest = min(row["problems"] for row in record["rows"])
    note = f"percent; at least {fewest:,} fresh programs of four digits a row; digits, of the commonest size of answer"
    return f"{table(head, rows)}\n\n<sub>{note} ({', '.join(sizes)}); {_origin(path, record)}</sub>"


def _origin(path: pathlib.Path, record: dict[str, Any]) -> str:
    return f"[results/{path.name}](../results/{path.name}), {record['date'][:10]}, {record['device']}"


def drawing(root: pathlib.Path) -> str:
    """What drawing programs takes of training on them."""
    rows, origins = [], []
    for platform in ("cpu", "gpu"):
        path = f"results/data-share-{platform}.json"
        if not (root / path).exists():
            continue
        record = json.loads((root / path).read_text())
        for row in record["rows"]:
            times = [f"{row['milliseconds_a_batch']:.1f}", f"{row['drawing_percent']:.2f}%"]
            rows.append([platform, row["model"], str(row["seeds"]), f"{row['problems_a_second']:,.0f}", *times])
        note = f" ({record['note']})" if "note" in record else ""
        origins.append(f"[{platform}](../{path}) {record['date'][:10]}, {record['device']}{note}")
    if not rows:
        return "Not run yet: `python -m benchmarks.data_share` does it."
    head = ["device", "model", "seeds at once", "programs a second, all seeds", "ms a batch", "of it, drawing programs"]
    return f"{table(head, rows)}\n\n<sub>{'; '.join(origins)}</sub>"
