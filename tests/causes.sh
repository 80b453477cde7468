#!/usr/bin/env bash
# Usage: tests/causes.sh [--count N]
# Runs trainings with seven planted causes, 20 times each, with `penstock run`, and counts the right diagnoses. Then prints
# the diagnoses of penstock and of traceml-ai side by side. Installs traceml-ai into build/causes, beside the packages of
# .venv; without it, only penstock runs. Takes about 20 minutes on two idle cores. Builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh
scripts/python_environment.sh
scripts/build.sh dev penstock_command _penstock >/dev/null
beside=()
if scripts/extra_environment.sh tests/python/causes/requirements.txt build/causes; then
  beside=(--beside "$PWD/build/causes/bin/traceml")
else
  echo "tests/causes.sh: traceml-ai cannot be installed: $(grep -m1 '^ERROR' build/causes.log || tail -n 1 build/causes.log)"
fi
export PYTHONPATH=$PWD/build/dev/python PYTHONDONTWRITEBYTECODE=1
exec .venv/bin/python tests/python/causes/campaign.py "$@" "${beside[@]}"
