#!/usr/bin/env bash
# Usage: tests/run.sh [dev|release|asan|ubsan|tsan] [CTEST OPTIONS...]
# The one test command: installs what is missing (Debian packages, and Python packages into .venv), builds the preset,
# and runs every test. Ends with ctest's summary and exit code. Safe to repeat.
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
exec ctest --preset "$preset" --no-tests=error "$@" </dev/null
