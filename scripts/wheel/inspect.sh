#!/usr/bin/env bash
# Usage: scripts/wheel/inspect.sh WHEEL    (auditwheel on the PATH)
# Checks a manylinux_2_28 wheel. It fails unless the wheel has at most 12 MB, needs only libraries of every Linux, and
# uses no glibc symbol newer than 2.28. Only Python's entry may be exported, so that the included libraries do not clash
# with other copies. The wheel must contain the licence of each library inside (licenses.sh).
set -euo pipefail
wheel=$1
pins=$(realpath "$(dirname "$0")/sources.txt")
fail() { echo "inspect: $(basename "$wheel"): $*" >&2; exit 1; }

bytes=$(stat -c %s "$wheel")
[ "$bytes" -le 12000000 ] || fail "has $bytes bytes, more than 12 MB"
shown=$(auditwheel show "$wheel" 2>&1) || fail "$shown"
arch=$(basename "$wheel" .whl | sed 's/.*manylinux_2_28_//')
tag=$(grep -o "\"manylinux_[0-9]*_[0-9]*_$arch\"" <<<"$shown" | head -n1 | tr -d '"')
IFS=_ read -r _ major minor _ <<<"$tag"
[ -n "$tag" ] && [ "$major" -eq 2 ] && [ "$minor" -le 28 ] || fail "auditwheel says '$tag': $shown"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m zipfile -e "$wheel" "$folder"
parts=$(find "$folder" -type f -exec sh -c 'head -c4 "$1" | grep -q ELF' _ {} \; -print)
[ "$(wc -l <<<"$parts")" -eq 2 ] || fail "holds other compiled files than the module and the command: $parts"
for part in $parts; do
  newest=$(readelf -V "$part" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n1)
  [ "$(printf '%s\n' "$newest" GLIBC_2.28 | sort -V | tail -n1)" = GLIBC_2.28 ] || fail "$(basename "$part") needs $newest"
  strange=$(readelf -d "$part" | grep NEEDED | grep -vE '\[(ld-linux-(x86-64|aarch64)|libc|libm|libdl|librt|libpthread|libgcc_s)\.so' || true)
  [ -z "$strange" ] || fail "$(basename "$part") needs $strange"
  symbols=$(readelf -W --dyn-syms "$part" | awk '$7 != "UND" && $5 ~ /GLOBAL|WEAK|UNIQUE/ && $4 != "NOTYPE" {print $8}' |
    grep -vE '^PyInit__penstock$' || true)
  [ -z "$symbols" ] || fail "$(basename "$part") shows $(wc -l <<<"$symbols") symbols, $(head -n5 <<<"$symbols" | tr '\n' ' ')among them"
done
for package in $(grep -v '^#' "$pins" | cut -d' ' -f1) libcxx compiler-rt nanobind robin_map; do
  [ -n "$(find "$folder"/penstock-*.dist-info/licenses/"$package" -type f -size +0 2>/dev/null)" ] || fail "has no licence of $package inside"
done
echo "$(basename "$wheel"): $((bytes / 1000)) kB, $tag, nothing shown but Python's entry"
