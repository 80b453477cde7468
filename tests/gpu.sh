#!/usr/bin/env bash
# Usage: tests/gpu.sh [WHEEL]
# Everything that needs a GPU, on a machine with nvcc, CMake, a C++20 compiler and a GPU; no network, no other packages, a
# few minutes. Builds the device layer alone, runs its tests, under compute-sanitizer too where there is one, and prints the
# figures of this GPU; with PENSTOCK_JPEGS=FOLDER also how fast nvJPEG decodes the first 256 JPEGs there. With a wheel of penstock (scripts/wheel.sh --of-this-system makes one), and PyTorch in python3, it also loads batches
# end to end. Without a GPU it runs what can run, says what it left out, and succeeds.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${PENSTOCK_GPU_BUILD:-build/gpu}
wheel=${1:-}
python=${PYTHON:-python3}
mkdir -p "$(dirname "$build")"

cmake -S tests/device/standalone -B "$build" -DCMAKE_BUILD_TYPE=Release >"$build.configure.log" 2>&1 ||
  { cat "$build.configure.log" >&2; exit 1; }
grep '^-- penstock:' "$build.configure.log"
cmake --build "$build" --parallel "$(nproc)" >"$build.build.log" 2>&1 || { cat "$build.build.log" >&2; exit 1; }
for test in host_device device_use passes kernels cufile cuda nvjpeg; do
  echo "== $test"
  "$build/${test}_test"
done

if [ ! -x "$build/measure" ]; then
  echo "left out: figures, and tests on a GPU: no nvcc that works"
  exit 0
fi
jpegs=()
if [ -n "${PENSTOCK_JPEGS:-}" ]; then
  mapfile -t jpegs < <(find "$PENSTOCK_JPEGS" -type f \( -iname '*.jpg' -o -iname '*.jpeg' \) | sort | head -n 256)
fi
"$build/measure" "${jpegs[@]}" >"$build.figures"
cat "$build.figures"
if grep -q '^no figures' "$build.figures"; then
  echo "left out: tests on a GPU"
  exit 0
fi

if command -v compute-sanitizer >/dev/null; then
  for tool in memcheck racecheck initcheck synccheck; do
    echo "== compute-sanitizer --tool $tool"
    compute-sanitizer --tool "$tool" --error-exitcode 1 --print-limit 5 "$build/cuda_test" | tail -3
  done
else
  echo "left out: compute-sanitizer is not here"
fi

if [ -z "$wheel" ]; then
  echo "left out: end to end, because no wheel was named"
elif ! "$python" -c 'import torch; raise SystemExit(not torch.cuda.is_available())' 2>/dev/null; then
  echo "left out: end to end, because $python has no PyTorch that sees the GPU"
else
  rm -rf "$build/site" && "$python" -m pip install --quiet --no-index --no-deps --target "$build/site" "$wheel"
  PYTHONPATH=$build/site "$python" tests/device/end_to_end.py
fi
