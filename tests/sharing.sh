#!/usr/bin/env bash
# Usage: tests/sharing.sh [--kills N]
# Trainings in four processes share batches. Kills 100 processes that take batches, and 100 that build them, and compares
# every batch with a plain loader's. Takes about 2 minutes on two idle cores. Builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh
scripts/python_environment.sh
scripts/build.sh dev _penstock >/dev/null
export PYTHONPATH=$PWD/build/dev/python PYTHONDONTWRITEBYTECODE=1
exec .venv/bin/python tests/python/sharing/campaign.py "$@"
