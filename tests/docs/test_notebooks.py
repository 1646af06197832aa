"""Each notebook runs from its first cell to its last in a fresh folder, and what its cells give is what it keeps."""

import json

import pytest

from tests.docs.pages import ROOT
from tests.docs.test_tutorials import agree

NOTEBOOKS = {path.stem: path for path in sorted(ROOT.glob("docs/notebooks/*.ipynb"))}


def values(notebook) -> list[str]:
    """What cells give; what they print on the way tells of the machine."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", ())]
    texts = (output["data"]["text/plain"] for output in outputs if output["output_type"] == "execute_result")
    return ["".join(text) for text in texts]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_gives_what_it_keeps(name, tmp_path):
    nbclient = pytest.importorskip("nbclient", reason="needs tiltmeter[site]")
    nbformat = pytest.importorskip("nbformat", reason="needs tiltmeter[site]")
    notebook = nbformat.read(NOTEBOOKS[name], as_version=4)
    kept = values(notebook)
    place = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    assert len(kept) > 1
    assert all(map(agree, kept, values(notebook)))
    assert len(kept) == len(values(notebook))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_keeps_no_trace_of_a_machine(name):
    text = NOTEBOOKS[name].read_text(encoding="utf-8")
    assert "/home" not in text
    assert "/tmp" not in text
    outputs = [output for cell in json.loads(text)["cells"] for output in cell.get("outputs", ())]
    assert {output["output_type"] for output in outputs} == {"execute_result"}
