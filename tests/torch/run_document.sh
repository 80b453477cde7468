#!/usr/bin/env bash
# Usage: run_document.sh PENSTOCK PROGRAM FRAGMENTS: runs the examples of docs/libtorch.md on the datasets that they name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_NUM_THREADS=1 # where other programs run, PyTorch's threads wait for each other most of the time
"$1" synth images photos -n 100
"$1" pack photos train.tar.d --format tar
"$1" synth clouds trees -n 40 --points 2000
"$1" pack trees trees.tar.d --format tar --point-order progressive
"$2" | tee output
grep -q '^64 images, first loss' output
grep -q '^36 images, first loss' output
"$3"
