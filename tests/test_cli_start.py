"""How the command line starts: help at once, kernels compiled ahead."""

import subprocess
import sys

import pytest

from podium.cli.options import EXPORT_FORMATS, IMPORT_FORMATS
from podium.export import FORMATS as EXPORTS
from podium.importing import FORMATS as IMPORTS

pytestmark = pytest.mark.plain


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["train", "--help"], []])
def test_help_and_version_import_nothing_heavy(arguments):
    code = (
        "import sys\nfrom podium.cli import app\n"
        f"try:\n    app({arguments!r})\nexcept SystemExit:\n    pass\n"
        "print(sorted({'numba', 'numpy', 'scipy', 'sklearn'} & set(sys.modules)), file=sys.stderr)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip()
    assert said.stderr == "[]\n"


def test_the_help_names_every_format():
    assert (*EXPORTS,) == EXPORT_FORMATS
    assert (*IMPORTS,) == IMPORT_FORMATS
