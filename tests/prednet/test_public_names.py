import subprocess
import sys

import pytest

import prednet


def test_every_public_name_can_be_imported_and_is_listed():
    for name in prednet.__all__:
        assert getattr(prednet, name).__name__ == name
        assert name in dir(prednet)


def test_unknown_names_are_refused_as_python_does():
    with pytest.raises(AttributeError, match="no attribute 'PredNetwork'"):
        prednet.PredNetwork  # noqa: B018
    with pytest.raises(ImportError, match="PredNetwork"):
        from prednet import PredNetwork  # noqa: F401


def test_importing_the_package_imports_nothing_heavy():
    heavy = "{'torch', 'numpy', 'av', 'PIL', 'h5py', 'matplotlib'}"
    code = f"import sys, prednet; prednet.PredNetConfig; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
