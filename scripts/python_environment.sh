#!/usr/bin/env bash
# Usage: scripts/python_environment.sh
# Makes .venv with the Python packages of the tests (PyPI); does nothing when it is up to date. PyTorch comes along where
# the package index offers a build for CPUs alone; without it the tests that need it are skipped. Of Petastorm only the
# schema and codecs are wanted, so the rest of what it asks for (Spark) is left out.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=tests/python/requirements.txt
stamp=.venv/requirements.sha256
torch=tests/python/requirements_torch.txt
petastorm=tests/python/requirements_petastorm.txt
wanted=$(cat "$requirements" "$torch" "$petastorm" | sha256sum)
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

echo "Installing the Python packages of the tests into .venv"
python3 -m venv --clear .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --requirement "$torch" 2>/dev/null ||
  echo "PyTorch for CPUs is not to be had here: its tests will be skipped"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --requirement "$petastorm" 2>/dev/null ||
  echo "Petastorm is not to be had here: its tests will be skipped"
echo "$wanted" >"$stamp"
