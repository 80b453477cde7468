#!/usr/bin/env bash
# Usage: scripts/wheel/try.sh WHEEL PYTHON
# Installs only the wheel in a fresh environment and runs tests/python/check_wheel.py, which fails if the first batch
# comes later than 15 s after `pip install` began.
set -euo pipefail
here=$(realpath "$(dirname "$0")/../..")
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" -m venv "$folder/venv"
cd "$folder"
began=$(date +%s.%N)
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index "$wheel"
env -u PYTHONPATH -u LD_LIBRARY_PATH "$folder/venv/bin/python" "$here/tests/python/check_wheel.py" --since "$began"
