#!/usr/bin/env bash
# Usage: scripts/python_environment.sh
# Makes .venv with the Python packages of the tests (PyPI); does nothing when it is up to date.
set -euo pipefail
cd "$(dirname "$0")/.."

requirements=tests/python/requirements.txt
stamp=.venv/requirements.sha256
wanted=$(sha256sum <"$requirements")
if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then exit 0; fi

echo "Installing the Python packages of the tests into .venv"
python3 -m venv --clear .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --requirement "$requirements"
echo "$wanted" >"$stamp"
