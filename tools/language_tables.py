"""The tables of docs/language.md, and that of docs/geometries.md on language."""

import dataclasses
import json
import pathlib
from typing import Any

from study_tables import CHANGED, NOT_RUN, changed_note, settings_changed, table

from lantm.paper import preset
from lantm.paper.published import LANGUAGE
from lantm.training import ModelName

MODELS: tuple[ModelName, ...] = ("lstm", "lantm-invnorm", "lantm-softmax")
PLATFORMS = ("cpu", "gpu")


def perplexities(root: pathlib.Path) -> str:
    """Ours beside the paper's."""
    rows, origins = [], []
    for model in MODELS:
        result = _read(root, f"language/{model}.json")
        paper = [str(LANGUAGE[model][text]) for text in ("validation", "test")]
        if result is None:
            rows.append([model, *paper, NOT_RUN, NOT_RUN, "", "", ""])
            continue
        validation, test = result["rows"]
        rows.append(
            [
                f"{model} {CHANGED}" if _changed(result, model) else model,
                *paper,
                f"{validation['perplexity']:.1f}",
                f"{test['perplexity']:.1f}",
                f"{test['median_perplexity']:.1f} of {test['seeds']}",
                str(result["best_epochs"][test["best_seed"] - result["experiment"]["first_seed"]]),
                ", ".join("pass" if row["pass"] else "**fail**" for row in (validation, test)),
            ]
        )
        origins.append(f"[{model}](../results/language/{model}.json) {_origin(result['scored'])}")
    head = [
        "model",
        "paper: validation",
        "test",
        "ours: validation",
        "test",
        "median of seeds, test",
        "best epoch",
        "validation, test",
    ]
    return _with_origins(head, rows, origins, "lantm reproduce language --data FOLDER")


def speed(root: pathlib.Path) -> str:
    """Words a second, by device."""
    rows, origins = [], []
    for platform in PLATFORMS:
        result = _read(root, f"language-speed-{platform}.json")
        if result is None:
            continue
        rows += [
            [
                platform,
                row["name"],
                str(row["seeds"]),
                f"{row['words_a_second']:,}",
                f"{row['seconds_an_epoch']:,.{0 if row['seconds_an_epoch'] >= 10 else 1}f} s",
                f"{row['waiting_percent']:.2f}%",
            ]
            for row in result["training"]
        ]
        note = f" ({result['note']})" if "note" in result else ""
        origins.append(f"[{platform}](../results/language-speed-{platform}.json) {_origin(result)}{note}")
    head = ["device", "model", "seeds at once", "words a second, all seeds", "an epoch", "waiting for data"]
    return _with_origins(head, rows, origins, "python -m benchmarks.language")


MACHINES = {
    "lantm-invnorm": "InvNorm",
    "lantm-invnorm-small": "InvNorm, all weights small at first",
    "lantm-softmax": "SoftMax",
    "lantm-invnorm-disk": "InvNorm in the disk",
}
"""Those with heads, by the names of their files."""


def keys(root: pathlib.Path) -> str:
    """What the heads of a trained machine did."""
    rows, origins, figures = [], [], ""
    for name, machine in MACHINES.items():
        found = _read(root, f"language-keys-{name}.json")
        if found is None:
            continue
        rows.append(
            [
                machine,
                f"{found['first_read_norm']:.3g} → {found['last_read_norm']:.3g}",
                f"{found['first_write_norm']:.3g} → {found['last_write_norm']:.3g}",
                f"{found['distance']:.3g}",
                f"{found['spread']:.3g}",
                f"{found['shared_over']:.1f} of {found['remembered']:.0f}",
            ]
        )
        origins.append(f"[{machine}](../results/language-keys-{name}.json) {_origin(found['scored'])}")
        if (root / "docs" / f"language-keys-{name}.png").exists():
            figures += f"\n\n![Where the heads of {machine} went](language-keys-{name}.png)"
    head = [
        "machine",
        "norm of read keys, first → last",
        "of write keys",
        "read key to the middle of the memories",
        "memories around their middle",
        "memories a reading is spread over",
    ]
    return _with_origins(head, rows, origins, "lantm trace RUN") + figures


def key_spaces(root: pathlib.Path) -> str:
    """InvNorm with keys in the plane and in the disk."""
    rows, origins = [], []
    for name, space in (("lantm-invnorm", "translation"), ("lantm-invnorm-disk", "disk")):
        result = _read(root, f"language-geometries/{name}.json")
        if result is None:
            continue
        validation, test = result["rows"]
        by_seed = ", ".join(f"{one:.1f}" for one in sorted(test["perplexity_by_seed"]))
        mark = f" {CHANGED}" if _changed(result, "lantm-invnorm", geometry=space) else ""
        row = [f"`{space}`{mark}", f"{validation['perplexity']:.1f}", f"{test['perplexity']:.1f}"]
        rows.append([*row, f"{test['median_perplexity']:.1f}", by_seed])
        origins.append(f"[{space}](../results/language-geometries/{name}.json) {_origin(result['scored'])}")
    head = ["key space", "validation, best seed", "test", "test, median", "test of every seed"]
    return _with_origins(head, rows, origins, "lantm reproduce language-geometries --data FOLDER")


def _changed(result: dict[str, Any], model: ModelName, **changes: Any) -> bool:
    """Whether it would be trained with other settings now."""
    now = preset("text", model)
    return settings_changed(result, dataclasses.replace(now, machine=dataclasses.replace(now.machine, **changes)))


def _read(root: pathlib.Path, name: str) -> dict[str, Any] | None:
    path = root / "results" / name
    return json.loads(path.read_text()) if path.exists() else None


def _origin(record: dict[str, Any]) -> str:
    return f"{record['date'][:10]}, {record['device']}"


def _with_origins(head: list[str], rows: list[list[str]], origins: list[str], command: str) -> str:
    """A table, and where its numbers come from; one line where there are none."""
    if not origins:
        return f"Not run yet: `{command}` does it."
    missing = [f"{NOT_RUN}: not run"] if any(NOT_RUN in row for row in rows) else []
    return f"{table(head, rows)}\n\n<sub>{'; '.join(origins + missing)}{changed_note(rows)}</sub>"
