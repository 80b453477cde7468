#!/usr/bin/env bash
# Usage: tests/no_unity.sh [PATTERN]
# Checks every source of the library and the command by itself (or those whose paths fit PATTERN), without precompiled
# headers and without generating code, so that a missing include shows which unity builds hide. Takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/no_unity
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Syntax -DCMAKE_CXX_FLAGS_SYNTAX=-fsyntax-only -DPENSTOCK_UNITY=OFF \
  -DPENSTOCK_BUILD_TESTS=OFF -DPENSTOCK_BUILD_TORCH=OFF -DPENSTOCK_CUDA=OFF >/dev/null
mapfile -t objects < <(ninja -C "$build" -t targets all | sed -n 's/: CXX_COMPILER.*//p' | grep -- "${1:-}")
ninja -C "$build" -k 0 "${objects[@]}"
