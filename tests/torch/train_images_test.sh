#!/usr/bin/env bash
# Usage: train_images_test.sh PENSTOCK TRAIN_IMAGES: the example learns, shows both limits, and ends well at Ctrl-C.
set -euo pipefail
penstock=$1
train=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_NUM_THREADS=1 # where other programs run, PyTorch's threads wait for each other most of the time
fail() { echo "FAILED: $*" >&2; exit 1; }
header='epoch   step     loss  accuracy  samples/s  loading ms  training ms'
sums='^[0-9]+ samples in [0-9.]+ s: [0-9]+ samples/s, loading [0-9.]+ s, training [0-9.]+ s$'

"$penstock" synth icons icons -n 1500 2>&1
"$penstock" pack icons icons.tar.d --format tar 2>&1
"$penstock" synth icons others -n 200 --seed 1 2>&1

echo "== training"
"$train" icons.tar.d --epochs 5 --batch-size 32 --every 10 --seed 1 | tee real
[ "$(head -1 real)" = "$header" ] || fail "another header"
[ "$(grep -c '^held out: ' real)" = 5 ] || fail "not one line of accuracy for each epoch"
tail -1 real | grep -Eq "$sums" || fail "no sums"
awk '/^ +[0-9]/ { if (!first) first = $3; last = $3 }
     /^held out/ { accuracy = $3 }
     END { printf "loss %s -> %s, held out %s (chance: 0.1)\n", first, last, accuracy
           exit !(last < 0.75 * first && accuracy > 0.35) }' real || fail "it did not learn"

echo "== the trainer's limit, the loader's limit, another dataset to measure on"
"$train" icons.tar.d --epochs 1 --batch-size 32 --mock-loader | tee trainer
awk '/^ +[0-9]/ { lines++; bad += $6 > 0.05 || $7 < 0.1 } END { exit !(lines > 0 && bad == 0) }' trainer || fail "it loads"
grep -q 'held out' trainer && fail "--mock-loader measures accuracy"
"$train" icons.tar.d --epochs 1 --batch-size 32 --mock-trainer | tee loader
awk '/^ +[0-9]/ { lines++; bad += $3 != "-" || $7 > 0.05 } END { exit !(lines > 0 && bad == 0) }' loader || fail "it trains"
"$train" icons.tar.d --test others --epochs 1 --batch-size 500 | grep 'of 200 samples right' || fail "--test"

echo "== Ctrl-C"
"$train" icons.tar.d --epochs 100000 --every 1 --mock-trainer >stopped &
until [ "$(wc -l <stopped)" -gt 3 ]; do sleep 0.1; done
kill -INT $!
code=0
wait $! || code=$?
[ "$code" = 130 ] || fail "exit code $code after Ctrl-C"
tail -1 stopped | grep -Eq "$sums" || fail "no sums after Ctrl-C"

echo "== mistakes"
"$train" absent 2>error && fail "an absent dataset"
grep -q 'train_images: absent' error || fail "no path in: $(cat error)"
"$train" icons.tar.d --batch-size 5000 2>error && fail "a batch of more than all samples"
grep -q 'fewer samples' error || fail "$(cat error)"
echo "all good"
