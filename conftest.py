"""What every test run needs: nbval's clean-up rules from any folder, and no contact with a reader's workbook."""

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent


def pytest_configure(config: pytest.Config) -> None:
    os.environ["LLMLITE_WORKBOOK"] = tempfile.mkdtemp(prefix="llmlite-workbook-")
    os.environ.pop("MPLBACKEND", None)  # kernels must draw into the notebook
    config.option.nbval_sanitize_with = str(ROOT / "tests" / "sanitize.cfg")
