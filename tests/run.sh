#!/usr/bin/env bash
# Usage: tests/run.sh [dev|release|asan|ubsan|tsan] [CTEST OPTIONS...]
# The one test command: installs what is missing (Debian packages, and Python packages into .venv), builds the preset,
# and runs every test. As many run at a time as there are cores, and beside them one that waits for a server (-j1 after the
# preset: one after the other). A test that a busy machine made fail is repeated alone (tests/run_tests.py). Ends with
# ctest's summary and exit code. Safe to repeat.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${1:-dev}
case "$preset" in
  dev | release | asan | ubsan | tsan) ;;
  *) sed -n '2s/^# //p' "$0" >&2; exit 2 ;;
esac
shift || true

if [ ! -w "${HOME:-/nonexistent}" ]; then # compiler and package caches need some home
  export HOME=$PWD/build/home
  mkdir -p "$HOME"
fi

scripts/install_dependencies.sh
scripts/python_environment.sh
scripts/build.sh "$preset"
exec python3 tests/run_tests.py --preset "$preset" --parallel "$((2 * $(nproc) + 1))" "$@"  # places: tests/CMakeLists.txt
