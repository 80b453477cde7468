#!/usr/bin/env bash
# Usage: scripts/wheel/try_aarch64.sh WHEEL
# Installs a wheel for aarch64 and Debian 12's Python 3.11 beside that Python and runs tests/python/check_wheel.py, emulated by qemu.
set -euo pipefail
here=$(realpath "$(dirname "$0")/../..")
wheel=$(realpath "$1")
root=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}/roots/bookworm-aarch64
"$here/scripts/wheel/python_root.sh" aarch64 bookworm "$root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$folder" --only-binary=:all: \
  --platform manylinux_2_28_aarch64 --python-version 3.11 --implementation cp --abi cp311 "$wheel"
emulator="qemu-aarch64-static -L $root"
chmod +x "$folder/penstock/bin/penstock"
cd "$folder"
PYTHONPATH=$folder $emulator "$root/usr/bin/python3" "$here/tests/python/check_wheel.py" --runner "$emulator" \
  --command "$folder/penstock/bin/penstock"
