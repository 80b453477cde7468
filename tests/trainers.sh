#!/usr/bin/env bash
# Usage: tests/trainers.sh
# Runs the tests in tests/python/trainers, and the guides that need transformers or Orbax. tests/run.sh does not install
# these packages; this script installs them into build/trainers, beside the packages of .venv. The first run
# downloads 44 MB and needs 250 MB of disk; later runs take 3 minutes on two cores. Builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh
scripts/python_environment.sh
scripts/build.sh dev penstock_command _penstock >/dev/null
scripts/extra_environment.sh tests/python/trainers/requirements.txt build/trainers || {
  echo "tests/trainers.sh: the packages cannot be installed: $(grep -m1 '^ERROR' build/trainers.log || tail -n 1 build/trainers.log)"
  exit 1
}
export PENSTOCK_COMMAND=$PWD/build/dev/bindings/cli/penstock PYTHONPATH=$PWD/build/dev/python PYTHONDONTWRITEBYTECODE=1
exec build/trainers/bin/python -m pytest -q -rs --disable-warnings -p no:cacheprovider tests/python/trainers \
  tests/python/test_guides.py -k 'trainers or huggingface or jax'
