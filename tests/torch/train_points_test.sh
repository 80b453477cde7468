#!/usr/bin/env bash
# Usage: train_points_test.sh PENSTOCK TRAIN_POINTS: the example learns, from packed clouds and from LAS files.
source "$(dirname "${BASH_SOURCE[0]}")/training.sh"

"$penstock" synth clouds trees -n 120 --num-classes 3 --points 4000 2>&1
"$penstock" pack trees trees.tar.d --format tar --point-order progressive 2>&1
small='--points 64 --width 8 --batch-size 8 --every 10'

echo "== training"
learns 8 0.6 trees.tar.d $small --held-out 0.25 --learning-rate 0.003 --seed 1 # of 3 classes
learns 4 0.5 trees.tar.d $small --held-out 0.25 --learning-rate 0.003 --seed 1 --feature-transform

echo "== from LAS files"
"$train" trees $small --epochs 1 --sampling fps --scale 0.05 | grep -Eq "$sums" || fail "no sums"

echo "== the trainer's limit, the loader's limit"
tells_limits trees.tar.d $small

echo "== mistakes"
refuses 'train_points: absent' absent
refuses nearest trees.tar.d --sampling nearest
echo "all good"
