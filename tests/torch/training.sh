# What the tests of the training examples share; sourced with PENSTOCK and the example as arguments. Makes a temporary
# folder and goes there.
set -euo pipefail
penstock=$1
train=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export OMP_NUM_THREADS=1 # where other programs run, PyTorch's threads wait for each other most of the time
header='epoch   step     loss  accuracy  samples/s  loading ms  training ms'
sums='^[0-9]+ samples in [0-9.]+ s: [0-9]+ samples/s, loading [0-9.]+ s, training [0-9.]+ s, [0-9.]+ MB read$'

fail() { echo "FAILED: $*" >&2; exit 1; }

# learns EPOCHS ACCURACY ARGUMENT...: over so many epochs, to more than that accuracy of the samples held out.
learns() {
  local epochs=$1 accuracy=$2
  shift 2
  "$train" "$@" --epochs "$epochs" | tee real
  [ "$(head -1 real)" = "$header" ] || fail "another header"
  [ "$(grep -c '^held out: ' real)" = "$epochs" ] || fail "not one line of accuracy for each epoch"
  tail -1 real | grep -Eq "$sums" || fail "no sums"
  awk -v wanted="$accuracy" '/^ +[0-9]/ { if (!first) first = $3; last = $3 }
       /^held out/ { accuracy = $3 }
       END { printf "loss %s -> %s, held out %s (wanted: %s)\n", first, last, accuracy, wanted
             exit !(last < 0.75 * first && accuracy > wanted) }' real || fail "it did not learn"
}

# tells_limits ARGUMENT...: the trainer's, and the loader's.
tells_limits() {
  "$train" "$@" --epochs 1 --mock-loader | tee trainer
  awk '/^ +[0-9]/ { lines++; bad += $6 > 0.05 || $7 < 0.1 } END { exit !(lines > 0 && bad == 0) }' trainer || fail "it loads"
  grep -q 'held out' trainer && fail "--mock-loader measures accuracy"
  "$train" "$@" --epochs 1 --mock-trainer | tee loader
  awk '/^ +[0-9]/ { lines++; bad += $3 != "-" || $7 > 0.05 } END { exit !(lines > 0 && bad == 0) }' loader || fail "it trains"
}

# ends_at_interrupt ARGUMENT...
ends_at_interrupt() {
  "$train" "$@" --epochs 100000 --every 1 --mock-trainer >stopped &
  until [ "$(wc -l <stopped)" -gt 3 ]; do sleep 0.1; done
  kill -INT $!
  local code=0
  wait $! || code=$?
  [ "$code" = 130 ] || fail "exit code $code after Ctrl-C"
  tail -1 stopped | grep -Eq "$sums" || fail "no sums after Ctrl-C"
}

# refuses WORDS ARGUMENT...: ends with an error that has these words.
refuses() {
  local words=$1
  shift
  "$train" "$@" 2>error && fail "not refused: $*"
  grep -q "$words" error || fail "not '$words' in: $(cat error)"
}
