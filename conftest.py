"""What every test run needs: nbval's clean-up rules from any folder, and no contact with a reader's workbook."""

import os
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent


def pytest_configure(config: pytest.Config) -> None:
    os.environ["LLMLITE_WORKBOOK"] = tempfile.mkdtemp(prefix="llmlite-workbook-")
    # Spinning threads bring a busy machine of two cores to a crawl; where two are wanted, a test says so.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.pop("MPLBACKEND", None)  # kernels must draw into the notebook
    config.option.nbval_sanitize_with = str(ROOT / "tests" / "sanitize.cfg")
