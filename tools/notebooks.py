"""Run the notebooks and save them with their outputs: python tools/notebooks.py [NOTEBOOK ...] (all, where none is named).

What is saved is what a page without a kernel can show: no widget state, no times of execution. A second run leaves every
file as it is, but for cells that show timings. The reader's workbook is neither read nor written.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[1]
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def run(path: Path) -> None:
    """Execute one notebook and save it in place. Raises where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.parent)
    clean(notebook)
    text = nbformat.writes(notebook) + "\n"
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def execute(notebook: nbformat.NotebookNode, folder: Path, timeout: int = 300) -> None:
    """Run all cells in a new kernel that works in the folder; no cell may take longer than timeout seconds."""
    where = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=timeout, record_timing=False, coalesce_streams=True, resources=where).execute()


def clean(notebook: nbformat.NotebookNode) -> None:
    """Drop what is only good for a live kernel or differs from run to run."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(WIDGET_VIEW, None)


def main() -> None:
    paths = [Path(arg).resolve() for arg in sys.argv[1:]] or sorted((ROOT / "notebooks").glob("*.ipynb"))
    with tempfile.TemporaryDirectory() as workbook:
        os.environ["LLMLITE_WORKBOOK"] = workbook
        os.environ.pop("MPLBACKEND", None)
        for path in (bar := tqdm(paths)):
            bar.set_description(path.name)
            run(path)


if __name__ == "__main__":
    main()
