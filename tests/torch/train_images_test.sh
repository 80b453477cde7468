#!/usr/bin/env bash
# Usage: train_images_test.sh PENSTOCK TRAIN_IMAGES: the example learns, shows both limits, and ends well at Ctrl-C.
source "$(dirname "${BASH_SOURCE[0]}")/training.sh"

"$penstock" synth icons icons -n 1500 2>&1
"$penstock" pack icons icons.tar.d --format tar 2>&1
"$penstock" synth icons others -n 200 --seed 1 2>&1

echo "== training"
learns 5 0.35 icons.tar.d --batch-size 32 --every 10 --seed 1 # of 10 classes

echo "== the trainer's limit, the loader's limit, another dataset to measure on"
tells_limits icons.tar.d --batch-size 32
"$train" icons.tar.d --test others --epochs 1 --batch-size 500 | grep 'of 200 samples correct' || fail "--test"

echo "== Ctrl-C"
ends_at_interrupt icons.tar.d

echo "== mistakes"
refuses 'train_images: absent' absent
refuses 'fewer samples' icons.tar.d --batch-size 5000
echo "all good"
