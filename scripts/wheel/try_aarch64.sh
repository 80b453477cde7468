#!/usr/bin/env bash
# Usage: scripts/wheel/try_aarch64.sh WHEEL
# Installs a wheel for aarch64 with the Python of the Debian that has the wheel's version (suite_of.sh), and runs
# tests/python/check_wheel.py there, emulated by qemu. If no Debian has that version, prints so.
set -euo pipefail
here=$(realpath "$(dirname "$0")/../..")
wheel=$(realpath "$1")
read -r suite version abi < <("$here/scripts/wheel/suite_of.sh" "$wheel")
if [ "$suite" = none ]; then
  echo "$(basename "$wheel"): not tried, since no Debian has its Python"
  exit 0
fi
root=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}/roots/$suite-aarch64
"$here/scripts/wheel/python_root.sh" aarch64 "$suite" "$root"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --disable-pip-version-check --no-index --no-deps --target "$folder" --only-binary=:all: \
  --platform manylinux_2_28_aarch64 --python-version "$version" --implementation cp --abi "$abi" "$wheel"
emulator="qemu-aarch64-static -L $root"
chmod +x "$folder/penstock/bin/penstock"
cd "$folder"
PYTHONPATH=$folder $emulator "$root/usr/bin/python3" "$here/tests/python/check_wheel.py" --runner "$emulator" \
  --command "$folder/penstock/bin/penstock"
