"""python -m llmlite: the same as the llmlite command."""

import sys

from .cli import main

sys.exit(main())
