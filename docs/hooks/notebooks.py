"""Notebooks as pages: their cells and what these put out, as the notebook keeps it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

_ENDING = ".ipynb"


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add a page for each notebook, which itself can be taken away."""
    for file in [file for file in files if file.src_uri.endswith(_ENDING)]:
        text = "\n\n".join(page_of(json.loads(file.content_string), file.name + _ENDING))
        files.append(File.generated(config, file.src_uri.replace(_ENDING, ".md"), content=text))


def page_of(notebook: Mapping[str, Any], name: str) -> Iterator[str]:
    """Parts of a page, of which the first has the title."""
    for number, cell in enumerate(notebook["cells"]):
        source = "".join(cell["source"])
        yield source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```"
        if number == 0:
            yield f"[{name}]({name}) is this page as a notebook."
        for output in cell.get("outputs", ()):
            text = output.get("text") or output["data"]["text/plain"]
            yield f"```text\n{''.join(text).rstrip()}\n```"
