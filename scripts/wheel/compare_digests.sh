#!/usr/bin/env bash
# Usage: scripts/wheel/compare_digests.sh [--photographs FOLDER] [--without-aarch64] [PYTHON]
# Runs tests/python/digests.py with the wheel of build/wheels that PYTHON (python3 without one) takes: on this processor as it is,
# without libjpeg-turbo's own vector code, and on emulated ones from SSE2 to AVX2; then with the wheel for aarch64 and Debian 12's
# Python, emulated. Fails unless the digests are the same everywhere. Emulators are slow: half an hour, with few photographs.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
cache=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}
photographs=()
aarch64=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --photographs) photographs=(--photographs "$2"); shift 2 ;;
    --without-aarch64) aarch64=; shift ;;
    *) break ;;
  esac
done
scripts/install_dependencies.sh --without-torch qemu-user-static
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${1:-python3}" -m venv "$folder/venv"
venv=$folder/venv
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links build/wheels penstock
cd "$folder"
digests() { # NAME COMMAND...: writes the digests, and says at once whether they are the first ones
  local name=$1
  shift
  "$@" "$here/tests/python/digests.py" "$folder/data" >"$name.txt"
  if [ "$name" = native ] || cmp --silent native.txt "$name.txt"; then
    echo "$name: $(wc -l <"$name.txt") digests, $(sha256sum <"$name.txt" | cut -c1-16)"
  else
    echo "$name: not the same:"
    diff native.txt "$name.txt" || true
    touch differs
  fi
}
"$venv/bin/python" "$here/tests/python/digests.py" "$folder/data" --make "${photographs[@]}" >/dev/null
levels=$(grep -m1 -oE '\b(sse4_1|avx2|avx512bw|avx512_vbmi)\b' /proc/cpuinfo | sort -u | tr '\n' ' ' || true)
echo "native: $levels"
digests native "$venv/bin/python"
digests plain-jpeg env JSIMD_FORCENONE=1 "$venv/bin/python"
python=$(realpath "$venv/bin/python")
site=$(echo "$venv"/lib/python3*/site-packages)
for processor in qemu64 Nehalem Haswell; do
  digests "x86_64-$processor" env PYTHONPATH="$site" "qemu-$(uname -m)-static" -cpu "$processor" "$python"
done
if [ -n "$aarch64" ]; then
  "$here/scripts/wheel/python_root.sh" aarch64 bookworm "$cache/roots/bookworm-aarch64"
  root=$cache/roots/bookworm-aarch64
  mkdir site
  "$venv/bin/python" -m zipfile -e "$(echo "$here"/build/wheels/penstock-*-cp311-cp311-*aarch64.whl)" site
  digests aarch64 env PYTHONPATH="$folder/site" qemu-aarch64-static -L "$root" "$root/usr/bin/python3"
fi
[ ! -e differs ]
echo "the same everywhere"
