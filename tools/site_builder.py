"""Builds the documentation into site/ (`make docs`). A broken link or an undocumented public name fails.

The pages are those of docs/; notebooks become pages too, and the reference is made of docstrings. The generator is
Zensical, by the authors of Material for MkDocs, whose support ended in November 2026; it reads the same configuration.
"""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import griffe
import tutorials

import lantm
from lantm.cli import COMMANDS
from lantm.cli import main as command

ROOT = pathlib.Path(__file__).parent.parent
SITE, SOURCE = ROOT / "site", ROOT / "build" / "docs"
FOLDERS = "examples|results|src|tools|benchmarks|tests"  # of the repository, that pages link to
STYLE = "site.css"
LOST = '<p>There is no such page. <a href="index.html">Home</a> lists what there is, and the search finds the rest.</p>'
SHIM = "iframe-worker.js"  # the generator would fetch it from the network; it lets search work without a server

# Methods of public classes that other parts of the package call, by name: the reference leaves them out.
INTERNAL = (
    *("begin_batch", "writing", "run_batch", "run_given"),  # of the layer
    *("of_learners", "of_result", "upgrade", "kept_per_step"),
)

NAVIGATION = {
    "Home": "index.md",
    "Tutorials": {
        "Your first machine": "tutorials/first-machine.md",
        "Reading a trace": "tutorials/reading-a-trace.md",
        "Training from Python": "tutorials/training-from-python.md",
        "Many seeds and sweeps": "tutorials/seeds-and-sweeps.md",
        "Parts of your own": "tutorials/your-own.md",
        "The layer in a network": "tutorials/layer-in-a-network.md",
        "Why seeds fail": "tutorials/why-seeds-fail.md",
        "Exact at any length": "tutorials/exact-at-any-length.md",
    },
    "Guide": {
        "Training and scoring": "training.md",
        "The Python library": "library.md",
        "Sweeps and clusters": "scaling.md",
        "Figures and videos": "figures.md",
        "Pages": "pages.md",
        "Security": "security.md",
        "The format of a file": "format.md",
    },
    "How it works": {
        "The machine": "machine.md",
        "Cost against size": "sizes.md",
        "Geometries": "geometries.md",
        "Robust recipe": "robust-recipe.md",
        "Exact answers": "exact.md",
    },
    "Results": {
        "Reproduction": "reproduction.md",
        "The second paper": "second-paper.md",
        "Peers": "peers.md",
        "Programs": "programs.md",
        "Language": "language.md",
        "Gallery": "gallery.md",
    },
    "Contributing": {"The source tree": "tree.md", "How it is written": "contributing.md"},
    "Reference": {"Names": "reference.md", "Commands": "commands.md", "Changes": "changes.md"},
}

# By page: a link that is called by the page's file has its title on the site.
TITLES = {page: title for group in NAVIGATION.values() if isinstance(group, dict) for title, page in group.items()}

CONFIGURATION = {
    "site_name": "lantm",
    "docs_dir": SOURCE.name,
    "site_dir": SITE.name,
    "use_directory_urls": False,
    "theme": {
        "name": "material",
        "font": False,
        "features": ["navigation.tabs", "navigation.top", "toc.follow", "content.code.copy", "search.highlight"],
        "palette": [
            {
                "media": f"(prefers-color-scheme: {name})",
                "scheme": scheme,
                "toggle": {"icon": icon, "name": f"Switch to {other}"},
            }
            for name, scheme, icon, other in (
                ("light", "default", "material/weather-night", "dark"),
                ("dark", "slate", "material/weather-sunny", "light"),
            )
        ],
    },
    "extra": {"generator": False},
    "extra_css": [STYLE],
    "plugins": [
        "search",
        "offline",
        {
            "mkdocstrings": {
                "handlers": {
                    "python": {
                        "paths": [str(ROOT / "src")],
                        "options": {
                            "show_source": False,
                            "heading_level": 3,
                            "members_order": "source",
                            "inherited_members": True,
                            "show_root_heading": True,
                            "show_root_full_path": False,
                            "line_length": 90,
                            "show_bases": False,
                            "separate_signature": True,
                            "show_signature_annotations": True,
                            "merge_init_into_class": True,
                            "filters": ["!^_", "^__call__$", f"!^({'|'.join(INTERNAL)})$"],
                            "extensions": [str(ROOT / "tools" / "doctest_fences.py")],
                        },
                    }
                }
            }
        },
    ],
    "markdown_extensions": [
        *("tables", "attr_list", "md_in_html", "pymdownx.highlight", "pymdownx.superfences"),
        {"toc": {"permalink": True}},
    ],
}


def main() -> None:
    shutil.rmtree(SOURCE, ignore_errors=True)
    SOURCE.mkdir(parents=True)
    missing = undocumented()
    if missing:
        sys.exit(f"public names without a docstring: {', '.join(missing)}")
    pages = ROOT / "docs"
    for path in sorted(pages.rglob("*")):
        place = SOURCE / path.relative_to(pages)
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            place.write_text(linked(path.read_text(), path.parent))
        elif path.suffix == ".ipynb":
            place.with_suffix(".md").write_text(linked(as_page(path), path.parent))
            shutil.copy(path, place)
        elif path.is_file():
            shutil.copy(path, place)
    start = SOURCE / NAVIGATION["Home"]
    start.write_text(f"---\nhide: [navigation]\n---\n{start.read_text()}")  # it would be an empty column
    shutil.copy(ROOT / "tools" / STYLE, SOURCE / STYLE)
    changes = (ROOT / "CHANGELOG.md").read_text()
    (SOURCE / "changes.md").write_text(linked(changes.replace("](docs/", "]("), pages))
    contributing = (ROOT / "CONTRIBUTING.md").read_text()
    (SOURCE / "contributing.md").write_text(linked(contributing.replace("](docs/", "]("), pages))
    (SOURCE / "reference.md").write_text(reference())
    (SOURCE / "commands.md").write_text(commands())
    with contextlib.redirect_stdout(io.StringIO()):
        assert command(["view", "--zoo", "--out", str(SOURCE / "play.html")]) == 0
    written = {
        page for group in NAVIGATION.values() for page in (group.values() if isinstance(group, dict) else [group])
    }
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.md")}
    if written != found:
        sys.exit(f"pages and navigation differ: {', '.join(sorted(written ^ found))}")
    navigation = [
        {name: [{title: page} for title, page in group.items()] if isinstance(group, dict) else group}
        for name, group in NAVIGATION.items()
    ]
    settings = SOURCE.parent / "mkdocs.yml"
    settings.write_text(json.dumps({**CONFIGURATION, "nav": navigation}, indent=2))  # JSON is YAML
    shutil.rmtree(SITE, ignore_errors=True)
    done = subprocess.run(["zensical", "build", "--clean", "--strict", "--config-file", settings], check=False)
    if done.returncode:
        sys.exit("the site was not built")
    shutil.move(SOURCE.parent / SITE.name, SITE)
    make_local()
    print(f"open {SITE / 'index.html'}")


def as_page(path: pathlib.Path) -> str:
    """A notebook as Markdown."""
    cells = json.loads(path.read_text())["cells"]
    parts = []
    for cell in cells:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        if shown := "\n".join(tutorials.text(output).rstrip() for output in cell.get("outputs", [])):
            parts.append(f"```text\n{shown}\n```")
    title, *rest = parts
    return "\n\n".join([title, f"[This page as a notebook]({path.name}), which opens in Jupyter and in Colab.", *rest])


def linked(text: str, folder: pathlib.Path) -> str:
    """A page whose links lead to pages of the site, by title; files of the repository that it names are copied."""
    up = "../" * (len(folder.relative_to(ROOT / "docs").parts))

    def copied(found: re.Match[str]) -> str:
        source = ROOT / found[1]
        if not source.is_file():
            sys.exit(f"a page links to {found[1]}, which is not a file")
        place = SOURCE / "files" / found[1]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place)
        return f"]({up}files/{found[1]})"

    text = re.sub(rf"\]\((?:\.\./)+((?:{FOLDERS})/[^)#\s]+|CITATION\.cff)\)", copied, text)
    called = r"\[(?:docs/)?([\w-]+\.md)\](\(\1[^)\s]*\))"
    text = re.sub(called, lambda found: f"[{TITLES.get(found[1], found[1])}]{found[2]}", text)
    return re.sub(r"(?<!as a notebook)\]\((\S+)\.ipynb\)", r"](\1.md)", text)


def reference() -> str:
    """The public names by the part they come from."""
    titles = {
        "lantm.library": "Training",
        "lantm.training": "What is trained, and what it tells",
        "lantm.trained": "Trained machines",
        "lantm.evaluation": "Scores and recordings",
        "lantm.machine": "Machines and layers",
        "lantm.geometry": "Geometries",
        "lantm.tasks": "Tasks and texts",
        "lantm.paper": "The paper's experiments",
        "lantm.errors": "Errors",
    }
    assert titles.keys() == lantm._WHERE.keys()
    parts = ["# Names\n\n`import lantm` has these names, each as `lantm.NAME`."]
    for module, title in titles.items():
        parts.append(f"## {title}")
        parts += [f"::: {public(name).path}" for name in sorted(lantm._WHERE[module])]
    return "\n\n".join(parts) + "\n"


def commands() -> str:
    """The help of every command."""
    os.environ["COLUMNS"] = "80"  # a window of 800 pixels shows it whole
    parts = [
        "# Commands\n\nEach with `--help`, as here. `--json`, where there is one, prints the result for other programs."
    ]
    for name, summary in COMMANDS.items():
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            assert command([name, "--help"]) == 0
        parts.append(
            f"## lantm {name}\n\n{summary[0].upper()}{summary[1:]}.\n\n```text\n{said.getvalue().strip()}\n```"
        )
    return "\n\n".join(parts) + "\n"


_PACKAGE = griffe.load("lantm", search_paths=[str(ROOT / "src")], resolve_aliases=True)


def public(name: str) -> griffe.Object:
    """What a public name stands for, where it is defined."""
    found = _PACKAGE[f"{lantm._MODULES[name].removeprefix('lantm.')}.{name}"]
    return found.final_target if found.is_alias else found


def undocumented() -> list[str]:
    """Public names and their public methods without a docstring; a method may have that of the one it implements."""
    missing = []
    for name in sorted(lantm._MODULES):
        found = public(name)
        if not found.has_docstring:
            missing.append(name)
        if found.is_class:
            bases = [found, *found.mro()]
            for member in found.functions.values():
                said = any(member.name in base.members and base.members[member.name].has_docstring for base in bases)
                listed = (member.is_public and not member.is_special) or member.name == "__call__"
                if listed and not said:
                    missing.append(f"{name}.{member.name}")
    return missing


def make_local() -> None:
    """What the generator would have fetched is in the site; anything else that a page fetches is an error."""
    shutil.copy(ROOT / "tools" / SHIM, SITE / "assets" / "javascripts" / SHIM)
    for page in SITE.rglob("*.html"):
        up = "../" * len(page.parent.relative_to(SITE).parts)
        text = page.read_text()
        text = text.replace("https://unpkg.com/iframe-worker/shim", f"{up}assets/javascripts/{SHIM}")
        if page.name == "404.html":
            text = re.sub(r'\b(href|src)="/', r'\1="', text)  # as all others, it opens from disk
            text = re.sub(r'"(base|search)":"/', r'"\1":"./', text)
            text = text.replace("</h1>", f"</h1>\n{LOST}")
        if fetched := re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(https?:[^"]*|//[^"]*)"', text):
            sys.exit(f"{page.relative_to(SITE)} fetches {fetched[0]}")
        page.write_text(legible_tables(text))
    for style in SITE.rglob("*.css"):
        if fetched := re.findall(r"url\(\s*[\"']?(https?:[^)]*)\)", style.read_text()):
            sys.exit(f"{style.relative_to(SITE)} fetches {fetched[0]}")


def legible_tables(text: str) -> str:
    """What a phone needs: cells of many words are marked, and a range such as 65-128 stays in one line."""

    def marked(found: re.Match[str]) -> str:
        cell = re.sub(r"(?<![^ >])\d+-\d+(?![^ <,])", r'<span class="range">\g<0></span>', found[1])
        return f'<td class="words">{cell}</td>' if len(re.sub("<[^>]*>", "", cell)) > 24 else f"<td>{cell}</td>"

    return re.sub(r"<td>(.*?)</td>", marked, text, flags=re.DOTALL)


if __name__ == "__main__":
    main()
