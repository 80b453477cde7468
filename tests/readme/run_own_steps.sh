#!/usr/bin/env bash
# Usage: run_own_steps.sh PENSTOCK EXAMPLE: runs the example of docs/own_steps.md on six small PGM files.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
mkdir gray
for i in 1 2 3 4 5 6; do
  printf 'P5\n16 12\n255\n%0192d' "$i" >gray/$i.pgm
done
PENSTOCK_INDEX_DIR=$folder "$2" >output
cat output
grep -q "^4 images, mean -0" output
grep -q "^2 images, mean -0" output
grep -q "^custom_transform" output
grep -q "^6 samples in" output
