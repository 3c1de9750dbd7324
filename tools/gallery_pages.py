"""Pages on figures as Markdown: the gallery, from what tools/gallery.py drew, and what recordings cost."""

import json
import pathlib
from typing import Any

from lantm.tasks import make_task


def overview(root: pathlib.Path) -> str:
    """One task's figures, and where the others are."""
    record = _record(root, "gallery")
    first = record["figures"][0]
    keys = next(name for name in first["pictures"] if name.endswith("keys.png"))
    text = f"![where the heads of a machine go while it copies](docs/gallery/{keys})\n\n"
    text += f"{_told(first)} Red: where it wrote (darker is stronger). Blue and green: where its two read heads read.\n"
    others = dict.fromkeys(figure["task"] for figure in record["figures"])
    text += f"[docs/gallery.md](docs/gallery.md) has gates, answers and all tasks ({', '.join(others)})."
    return text + _origin("gallery", "results/gallery.json", record)


def every_figure(root: pathlib.Path) -> str:
    """All figures, task by task, and the video where there is one."""
    record = _record(root, "gallery")
    parts = []
    if video := record["video"]:
        experiment = video["experiment"]
        parts += [
            f"## {experiment['model']} learns {experiment['task']}",
            f"Seed {video['seed']}, {video['frames']} frames: after every epoch, one random problem.",
            f"![a machine learns {experiment['task']}](gallery/{video['file']})",
        ]
    for figure in record["figures"]:
        parts += [f"## {figure['task']}, length {figure['length']}", _told(figure)]
        for picture in sorted(figure["pictures"], key=_order):
            parts.append(f"![{_order(picture)[1]} of {figure['task']} at {figure['length']}](gallery/{picture})")
    return "\n\n".join(parts) + _origin("gallery", "../results/gallery.json", record)


def recording_cost(root: pathlib.Path) -> str:
    """What recording costs a training."""
    record = _record(root, "recordings-cpu")
    once, each = record["first_write_cpu_seconds"], record["bytes_an_epoch_a_seed"] / 1000
    text = (
        f"Recording takes {record['percent_of_cpu_time']:.1f}% of the processor time of a training ({record['task']}, "
        f"{record['seeds']} seeds, the paper's recipe), {once:.0f} seconds to compile once, and {each:.1f} kB per "
        "epoch and seed."
    )
    return text + _origin("recordings-cpu", "../results/recordings-cpu.json", record)


def _order(picture: str) -> tuple[int, str]:
    """Keys come first, then gates, then the answer."""
    name = picture.removesuffix(".png").rpartition("-")[2]
    return ("keys", "gates", "answer").index(name), name


def _told(figure: dict[str, Any]) -> str:
    """What the machine of a figure did, and where it comes from."""
    experiment = figure["experiment"]
    trained = experiment["lengths"] or make_task(experiment["task"]).train_lengths
    longest = trained[1] if isinstance(trained, list) else trained.largest
    went = f"all {figure['symbols']} symbols are right"
    if figure["wrong"]:
        first = figure["first_mistake"]
        went = f"{figure['wrong']} of {figure['symbols']} symbols are wrong, the first is symbol {first}"
    return f"Trained on lengths up to {longest}, run on {figure['length']}: {went}."


def _record(root: pathlib.Path, name: str) -> dict[str, Any]:
    return json.loads((root / "results" / f"{name}.json").read_text())


def _origin(name: str, path: str, record: dict[str, Any]) -> str:
    return f"\n\n<sub>[results/{name}.json]({path}), {record['date'][:10]}, {record['device']}</sub>"
