#!/usr/bin/env bash
# Usage: tests/peers.sh
# Compares penstock with libraries that tests/run.sh does not install: runs the tests in tests/python/peers, both programs of each
# page in docs/from, and tests/overview/beside_peers.py. Installs each library of tests/python/peers/*.txt into
# build/peers/LIBRARY, beside the packages of .venv.
# Names each library that cannot be installed, and skips its tests. Succeeds if all tests that run pass. The first run takes
# about 6 minutes on two cores, downloads 1.5 GB, and needs 4 GB of disk; later runs take 3 minutes. Builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh
scripts/python_environment.sh
scripts/build.sh dev penstock_command _penstock remote_probe store_tool >/dev/null
build=$PWD/build/dev peers=$PWD/build/peers
export PYTHONPATH=$build/python:$PWD/tests/python/peers PYTHONDONTWRITEBYTECODE=1 PENSTOCK_PEERS=$peers
export PENSTOCK_COMMAND=$build/bindings/cli/penstock PENSTOCK_REMOTE_PROBE=$build/tests/remote_probe PENSTOCK_STORE_TOOL=$build/tests/store_tool
PENSTOCK_TEST_DATA=$(sed -n 's/^PENSTOCK_TEST_DATA:PATH=//p' "$build/CMakeCache.txt")
export PENSTOCK_TEST_DATA
mkdir -p "$peers"

install_peer() { # LIBRARY
  local folder=$peers/$1
  if [ "$1" = ffcv ]; then scripts/install_dependencies.sh --without-torch libopencv-dev libturbojpeg0-dev >"$folder.log" 2>&1 || return 1; fi
  scripts/extra_environment.sh "tests/python/peers/$1.txt" "$folder" && "$folder/bin/python" -c "import $1" >>"$folder.log" 2>&1
}

missing=() failed=()
for requirements in tests/python/peers/*.txt; do
  library=$(basename "$requirements" .txt)
  if ! install_peer "$library"; then
    missing+=("$library")
    rm -rf "${peers:?}/$library"
  fi
done

run_tests() { # PYTHON FILE
  echo "== $(basename "$2" .py)"
  "$1" -m pytest -q -rs --disable-warnings -p no:cacheprovider "$2" || failed+=("$2")
}
for file in tests/python/peers/test_*.py; do
  library=$(basename "$file" .py) && library=${library#test_}
  if [ ! -e "tests/python/peers/$library.txt" ]; then
    run_tests .venv/bin/python "$file"
  elif [ -e "$peers/$library" ]; then
    run_tests "$peers/$library/bin/python" "$file"
  fi
done
run_tests .venv/bin/python tests/python/test_migration.py

if [ -e "$peers/torch_tb_profiler" ] && [ -e "$peers/hta" ]; then
  echo "== overview/beside_peers"
  .venv/bin/python tests/overview/beside_peers.py || failed+=(tests/overview/beside_peers.py)
fi

for library in "${missing[@]}"; do
  echo "skipped: $library cannot be installed: $(grep -m1 '^ERROR' "$peers/$library.log" || tail -n 1 "$peers/$library.log") (build/peers/$library.log)"
done
if [ ${#failed[@]} -gt 0 ]; then
  echo "tests/peers.sh: FAILED: ${failed[*]}"
  exit 1
fi
echo "tests/peers.sh: passed, libraries skipped: ${#missing[@]}"
