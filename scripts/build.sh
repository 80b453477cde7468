#!/usr/bin/env bash
# Usage: scripts/build.sh dev|release|asan|ubsan|tsan [CMAKE TARGET...]
# Configures and builds one preset in build/PRESET. Uses ccache if it is installed, and as many jobs as memory allows.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:?usage: scripts/build.sh dev|release|asan|ubsan|tsan [CMAKE TARGET...]}
shift

jobs=$(nproc)
available_gib=$(awk '/^MemAvailable:/ { print int($2 / 1048576) }' /proc/meminfo)
by_memory=$((available_gib / 2)) # the largest translation units take about 2 GiB with a sanitizer
[ "$by_memory" -ge 1 ] || by_memory=1
[ "$jobs" -le "$by_memory" ] || jobs=$by_memory

configure=(cmake --preset "$preset")
if command -v ccache >/dev/null; then configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache); fi
# The Python package needs an uninstrumented interpreter, and the packages that scripts/python_environment.sh installs.
if [[ $preset =~ ^(dev|release)$ ]] && .venv/bin/python -c 'import nanobind' 2>/dev/null; then
  configure+=(-DPENSTOCK_BUILD_PYTHON=ON "-DPython_EXECUTABLE=$PWD/.venv/bin/python")
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${configure[@]}" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep '^-- penstock:' "$log" || true

targets=("$@")
[ ${#targets[@]} -eq 0 ] || targets=(--target "${targets[@]}")
cmake --build "build/$preset" --parallel "$jobs" "${targets[@]}"
