#!/usr/bin/env bash
# Usage: tests/processors.sh [MODEL...]
# Runs the C++ tests of base/ and transforms/, and the batches of tests/python/digests.py, on processors that qemu emulates:
# on each MODEL, or on all that `qemu-x86_64 -cpu help` lists and on two whose kernel saves no AVX registers. All must pass and
# give the bytes that this machine gives. Models of the same extensions run once, 32-bit ones are skipped. qemu 7.2 has no
# AVX-512: models that have it run without. Builds what it needs (preset dev). All models take half an hour on two idle cores.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh qemu-user
scripts/python_environment.sh
scripts/build.sh dev formats_tests transforms_tests penstock_command _penstock >/dev/null
build=$PWD/build/dev
export build PYTHONPATH=$build/python PENSTOCK_COMMAND=$build/bindings/cli/penstock
export PENSTOCK_TEST_DATA=/nonexistent # no file of this machine decides what is tested
if objdump -d --no-show-raw-insn "$build/penstock/libpenstock.so" | grep -E '\bvp?gather[dq].*\(.*,%[xy]mm4\b'; then
  echo "tests/processors.sh: qemu 7.2 gets these instructions wrong: compile their files with -ffixed-xmm4, as transforms/CMakeLists.txt does" >&2
  exit 1
fi
python=$(realpath .venv/bin/python)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export python folder

models=("$@")
if [ ${#models[@]} -eq 0 ]; then
  mapfile -t models < <(qemu-x86_64 -cpu help | sed -n '/^Recognized/q; s/^x86 \([^ ]*\) .*/\1/p')
  models+=(max,-xsave Haswell,-xsave)
fi

emulated() { # MODEL PROGRAM...: qemu warns of each extension that it lacks
  qemu-x86_64 -cpu "$@" 2> >(grep -v '^qemu-x86_64: warning: TCG' >&2)
}

try_model() { # MODEL: prints one line
  local model=$1 out=$folder/$1 began=$SECONDS failed=()
  mkdir "$out"
  # qemu delivers SIGBUS in another way, and those tests are of the kernel.
  emulated "$model" "$build/tests/formats_tests" --source-file='*/tests/base/*,*/crc32c_test.cpp' \
    --source-file-exclude='*/sigbus_guard_test.cpp' >"$out/base" 2>&1 || failed+=(base)
  emulated "$model" "$build/tests/transforms_tests" >"$out/transforms" 2>&1 || failed+=(transforms)
  emulated "$model" "$python" tests/python/digests.py "$folder/data" >"$out/digests" 2>"$out/errors" || failed+=(digests)
  if ! cmp --silent "$folder/digests" "$out/digests"; then failed+=("bytes of batches"); fi
  if [ ${#failed[@]} -eq 0 ]; then
    echo "$model: the same, in $((SECONDS - began)) s$(sed -z 's/\n//g; s/^/, like/' "$folder/$model.also")"
    return
  fi
  touch "$folder/failed"
  printf '%s: failed: %s\n' "$model" "$(IFS=,; echo "${failed[*]}")"
  diff "$folder/digests" "$out/digests" | head -n 20 || true
  tail -n 30 "$out"/{base,transforms,errors}
}
export -f emulated try_model

cc -O1 -o "$folder/features" tests/support/processor_features.c
declare -A first=()
chosen=() skipped=0 same=0
for model in "${models[@]}"; do
  if ! features=$(emulated "$model" "$folder/features" 2>&1); then
    echo "$model: skipped: $features"
    skipped=$((skipped + 1))
  elif [ -n "${first[$features]:-}" ]; then
    echo " $model" >>"$folder/${first[$features]}.also"
    same=$((same + 1))
  else
    first[$features]=$model
    chosen+=("$model")
    : >"$folder/$model.also"
  fi
done

"$python" tests/python/digests.py "$folder/data" --make >"$folder/digests"
printf '%s\0' "${chosen[@]}" | xargs -0 -r -P "$(nproc)" -I{} bash -c 'try_model "$1"' _ {}

counts="${#chosen[@]} processors of different extensions, $same models of the same ones, $skipped skipped"
if [ -e "$folder/failed" ]; then
  echo "tests/processors.sh: FAILED: $counts"
  exit 1
fi
echo "tests/processors.sh: all the same: $counts, $(wc -l <"$folder/digests") digests"
