#!/usr/bin/env bash
# Usage: scripts/wheel/compare_digests.sh [--photographs FOLDER] [--emulated N] [--build FOLDER] [--without-aarch64]
# [PYTHON]
# Runs tests/python/digests.py with the wheel in build/wheels for PYTHON (default: python3), and fails unless all
# digests are equal. The runs are: on this processor; without libjpeg-turbo's vector code; on emulated processors from
# SSE2 (Highway's portable target) to AVX2; and with the wheel for aarch64 and Debian's Python, emulated. Emulators are
# slow: they process N of the photographs (default 10), and need five minutes each.
# --build: also runs FOLDER/python, the package of a manual build for PYTHON, with all photographs.
# CXXFLAGS=-DHWY_COMPILE_ONLY_EMU128 makes such a build for only the portable target.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=$PWD
cache=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}
photographs=
emulated=10
build=
aarch64=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --photographs) photographs=$(realpath "$2"); shift 2 ;;
    --emulated) emulated=$2; shift 2 ;;
    --build) build=$(realpath "$2"); shift 2 ;;
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

make() { # DATA [PHOTOGRAPHS]
  "$venv/bin/python" "$here/tests/python/digests.py" "$1" --make ${2:+--photographs "$2"} >"$1.txt"
  echo "$1: $(wc -l <"$1.txt") digests, $(sha256sum <"$1.txt" | cut -c1-16)${2:+, of $(find -L "$2" -type f -not -name '.*' | wc -l) photographs too}"
}
digests() { # DATA NAME COMMAND...: fails at the end where the digests are not those that this processor had
  local data=$1 name=$2 began=$SECONDS
  shift 2
  "$@" "$here/tests/python/digests.py" "$data" >"$name.txt" 2> >(grep -v '^qemu-x86_64-static: warning: TCG' >&2)
  if cmp --silent "$data.txt" "$name.txt"; then
    echo "$name: the same as $data, in $((SECONDS - began)) s"
  else
    echo "$name: not the same as $data:"
    diff "$data.txt" "$name.txt" || true
    touch differs
  fi
}
echo "this processor: $(grep -m1 -oE '\b(ssse3|sse4_1|avx2|avx512bw|avx512_vbmi)\b' /proc/cpuinfo | sort -u | tr '\n' ' ' || true)"
some=
if [ -n "$photographs" ]; then
  find "$photographs" -type f -not -name '.*' | sort >listed
  every=$((($(wc -l <listed) + emulated - 1) / emulated))
  awk "NR % $every == 1 % $every" listed | while read -r photograph; do
    class=some_photographs/$(basename "$(dirname "$photograph")")
    mkdir -p "$class" && cp "$photograph" "$class"
  done
  some=some_photographs
fi
make all "$photographs"
make some "$some"
digests all plain-jpeg env JSIMD_FORCENONE=1 "$venv/bin/python"
if [ -n "$build" ]; then digests all build env PYTHONPATH="$build/python" "$venv/bin/python"; fi
python=$(realpath "$venv/bin/python")
site=$(echo "$venv"/lib/python3*/site-packages)
for processor in qemu64 Nehalem Haswell; do
  digests some "x86_64-$processor" env PYTHONPATH="$site" "qemu-$(uname -m)-static" -cpu "$processor" "$python"
done
if [ -n "$aarch64" ]; then
  wheels=("$here"/build/wheels/penstock-*aarch64.whl)
  for wheel in "${wheels[@]}"; do
    read -r suite _ < <("$here/scripts/wheel/suite_of.sh" "$wheel")
    [ "$suite" = none ] || break
  done
  [ "$suite" != none ] || { echo "compare_digests: no wheel for aarch64 that a Debian has the Python of" >&2; exit 1; }
  root=$cache/roots/$suite-aarch64
  "$here/scripts/wheel/python_root.sh" aarch64 "$suite" "$root"
  mkdir site
  "$venv/bin/python" -m zipfile -e "$wheel" site
  digests some aarch64 env PYTHONPATH="$folder/site" qemu-aarch64-static -L "$root" "$root/usr/bin/python3"
fi
[ ! -e differs ]
echo "the same everywhere"
