#!/usr/bin/env bash
# Usage: tests/no_unity.sh [CMAKE TARGET...]
# Compiles every source of the library and the command by itself, without precompiled headers and without optimizing, so
# that a missing include shows which unity builds hide. Takes about 15 minutes of processor time.
set -euo pipefail
cd "$(dirname "$0")/.."
build=build/no_unity
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_CXX_FLAGS="-O0 -g0 -Wno-maybe-uninitialized" -DPENSTOCK_UNITY=OFF \
  -DPENSTOCK_BUILD_TESTS=OFF -DPENSTOCK_BUILD_TORCH=OFF -DPENSTOCK_CUDA=OFF "${launcher[@]}" >/dev/null
targets=("$@")
[ ${#targets[@]} -ne 0 ] || targets=(penstock penstock_command)
cmake --build "$build" --parallel "$(nproc)" --target "${targets[@]}"
