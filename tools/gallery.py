"""Draws the paper's figures with the machines of the zoo, into docs/gallery/.

`--video RUN` adds a video of the training in that run folder. What was drawn, with which machine and how many
mistakes, is in results/gallery.json afterwards; tools/readme.py writes the pages from it.
"""

import argparse
import contextlib
import io
import json
import pathlib
import tempfile
from typing import Any

from PIL import Image

from lantm import cli
from lantm.provenance import provenance
from lantm.trained import load, zoo

ROOT = pathlib.Path(__file__).parent.parent
GALLERY = ROOT / "docs" / "gallery"
RECORD = ROOT / "results" / "gallery.json"

# The figures of the paper's appendix: for each task, the lengths of its problems.
FIGURES = {
    "copy": (320,),
    "reverse": (128, 300),
    "bigramFlip": (128, 256),
    "double": (80, 320),
    "addition": (32, 64),
}


def lantm(*arguments: object) -> dict[str, Any]:
    """Runs a command and returns the JSON that it prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        status = cli.main([*map(str, arguments), "--json"])
    if status:
        raise SystemExit(status)
    return json.loads(said.getvalue())


def draw(task: str, length: int) -> dict[str, Any]:
    """The three figures of the first random problem of a length: none is chosen."""
    with tempfile.TemporaryDirectory() as folder:
        drawn = lantm("trace", task, "--length", length, "--out", folder)
        pictures = []
        for path in sorted(pathlib.Path(folder).glob("*.png")):
            with Image.open(path) as picture:
                small = picture.convert("RGB").quantize(colors=256, dither=Image.Dither.NONE)
            pictures.append(f"{task}-{length}-{path.name}")
            small.save(GALLERY / pictures[-1], optimize=True)
    machine = load(task)
    told = {key: drawn[key] for key in ("task", "model", "seed", "symbols", "wrong", "first_mistake")}
    settings = {"experiment": machine.experiment.to_json(), "epoch": machine.epoch, "trained": machine.trained}
    return {**told, "length": length, "machine": machine.name, "pictures": pictures, **settings}


def film(run: pathlib.Path, every: int) -> dict[str, Any]:
    """A video of a training."""
    made = lantm("video", run, "--every", every, "--out", GALLERY / "training.gif")
    record = json.loads((run / "experiment.json").read_text())
    return {
        "file": "training.gif",
        "seed": made["seed"],
        "frames": made["frames"],
        "experiment": record["experiment"],
        "trained": record["provenance"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--video", type=pathlib.Path, metavar="RUN", help="a run folder to make a video of")
    parser.add_argument("--every", type=int, default=2, help="epochs from one frame of the video to the next")
    chosen = parser.parse_args()
    GALLERY.mkdir(parents=True, exist_ok=True)
    before = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    there = {task: lengths for task, lengths in FIGURES.items() if zoo.find(task) is not None}
    figures = [draw(task, length) for task, lengths in there.items() for length in lengths]
    video = film(chosen.video, chosen.every) if chosen.video else before.get("video")
    kept = {picture for figure in figures for picture in figure["pictures"]} | ({video["file"]} if video else set())
    for path in GALLERY.iterdir():
        if path.name not in kept:
            path.unlink()
    record = {"command": "make gallery", "figures": figures, "video": video, **provenance()}
    RECORD.write_text(json.dumps(record, indent=2) + "\n")
    print(f"drew {', '.join(there)} into {GALLERY.relative_to(ROOT)}")
    if missing := [task for task in FIGURES if task not in there]:
        print(f"not in the zoo yet: {', '.join(missing)}; lantm zoo add RUN adds a machine")


if __name__ == "__main__":
    main()
