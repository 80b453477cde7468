#!/usr/bin/env bash
# Usage: run_example.sh PENSTOCK EXAMPLE: runs the README's example on 100 images, packed as the README says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$1" synth images photos -n 100
"$1" pack photos train.tar.d --format tar
"$2" >output
cat output
grep -q "^64 images, first of class" output
grep -q "^36 images, first of class" output
grep -q "^100 samples in" output
