#!/usr/bin/env bash
# Usage: tests/run.sh [dev|release|asan|ubsan|tsan] [CTEST OPTIONS...]
# The one test command: installs what is missing (Debian packages, and Python packages into .venv), builds the preset,
# and runs every test, as many at a time as there are cores (-j1 after the preset: one after the other). Ends with ctest's
# summary and exit code. Safe to repeat.
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
set +e +o pipefail
# Cases that were skipped beside others that ran are listed before ctest's summary, which knows whole programs only.
accounts=build/$preset/tests/skipped_cases
find "$accounts" -type f -delete 2>/dev/null || true
ctest --preset "$preset" --parallel "$(nproc)" --no-tests=error "$@" </dev/null | awk -v accounts="$accounts" '
  /^[0-9]+% tests passed/ { system("tests/skipped_cases.sh " accounts) }
  { print; fflush() }'
exit "${PIPESTATUS[0]}"
