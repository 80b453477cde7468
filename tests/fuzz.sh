#!/usr/bin/env bash
# Usage: tests/fuzz.sh [SECONDS] [TARGET...]
# Fuzzes the parsers of foreign bytes, one after the other, SECONDS each (600 unless told otherwise), with clang's
# libFuzzer; all of them unless some are named. One line per target on stdout: executions, coverage,
# seconds, findings. Findings stay in build/fuzz/findings, the grown corpus in build/fuzz/corpus. Exit 1 with findings.
# JOBS=N fuzzes N targets at a time. CXX=... chooses another clang++. See docs/fuzzing.md.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=600
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
elif [[ ${1:-} == -* ]]; then
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
fi

jobs=${JOBS:-1}
build=$PWD/build/fuzz
findings=$build/findings
corpus=$build/corpus
data=${PENSTOCK_TEST_DATA:-$PWD/../shared/data}

# The most an input has, in bytes, and the limits of a run; docs/fuzzing.md says why.
max_len=65536
malloc_limit_mb=256
rss_limit_mb=2048
timeout=10

find_clang() {
  local candidate
  for candidate in ${CXX:-} clang++ clang++-{19,18,17,16,15,14}; do
    [[ $candidate == *clang* ]] || continue
    command -v "$candidate" && return
  done
  return 1
}

build_targets() {
  find_clang >/dev/null || scripts/install_dependencies.sh --without-torch clang-14 libclang-rt-14-dev >&2
  local configure=(cmake --preset fuzz "-DCMAKE_CXX_COMPILER=$(find_clang)")
  if command -v ccache >/dev/null; then configure+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  mkdir -p "$build"
  "${configure[@]}" >"$build/configure.log" 2>&1 || { cat "$build/configure.log" >&2; exit 1; }
  cmake --build "$build" --target fuzz_files fuzz_remotes fuzz_values fuzz_seeds >&2
}

# Real files that are small enough, where the folder of real samples is there: their bytes stay in build/.
foreign_seeds() {
  local folders
  case $1 in
    hdf5) folders="hdf5 hdf5_corrupt" ;;
    jpeg_codec | png_codec | webp_codec) folders=images ;;
    tar) folders="tar tar_corrupt" ;;
    zip) folders="zip zip_corrupt" ;;
    lmdb | npy | tfrecord) folders=$1 ;;
    npy_codec) folders=npy ;;
    las_codec | laz_codec | off_codec | pcd_codec | ply_codec | xyz_codec) folders=pointcloud ;;
    *) return 0 ;;
  esac
  local folder
  for folder in $folders; do
    [ -d "$data/$folder" ] && find "$data/$folder" -type f -size -"$((max_len / 1024))"k -print0
  done | while IFS= read -r -d '' file; do
    cp --no-preserve=mode -n "$file" "$corpus/$1/real-$(sha1sum <"$file" | cut -c1-16)"
  done
}

# Time on the wall says little on a busy machine: what took long is run again, and kept if it works for a second.
drop_quick() {
  local input
  for input in "$findings/$1"/timeout-* "$findings/$1"/slow-unit-*; do
    [ -e "$input" ] || continue
    if (ulimit -t 10; TIMEFORMAT='%U %S'; { time PENSTOCK_FUZZ_TARGET=$1 TMPDIR=$scratch/$1 "$(program_of "$1")" "$input" >/dev/null 2>&1; } 2>&1) |
      awk 'END { exit !($1 + $2 < 1) }'; then rm "$input"; fi
  done
}

program_of() {
  local kind
  for kind in file remote value; do
    if grep -q "{\"$1\"," "tests/fuzz/${kind}_targets.cpp"; then echo "$build/tests/fuzz/fuzz_${kind}s"; fi
  done
}

# fuzz TARGET: prints its line; leaves build/fuzz/logs/TARGET.log.
fuzz() {
  local target=$1 log=$build/logs/$1.log started=$SECONDS
  mkdir -p "$corpus/$target" "$findings/$target" "$scratch/$target"
  foreign_seeds "$target"
  local options=(-max_total_time="$seconds" -timeout="$timeout" -malloc_limit_mb="$malloc_limit_mb"
    -rss_limit_mb="$rss_limit_mb" -max_len="$max_len" -report_slow_units=1 -print_final_stats=1
    -artifact_prefix="$findings/$target/")
  local dictionary=tests/fuzz/dictionaries/$target.dict
  [ -f "$dictionary" ] && options+=(-dict="$dictionary")
  local seeds=("$corpus/$target") folder
  for folder in "$build/seeds/$target" "tests/fuzz/regressions/$target"; do
    [ -d "$folder" ] && seeds+=("$folder")
  done
  local rest=$seconds executions=0
  # A finding ends libFuzzer: it goes on, with the input kept, until the time is up.
  : >"$log"
  while [ "$rest" -gt 0 ] && [ ! -e "$scratch/stop" ]; do
    PENSTOCK_FUZZ_TARGET=$target TMPDIR=$scratch/$target ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
      "$(program_of "$target")" "${options[@]}" -max_total_time="$rest" "${seeds[@]}" >"$log.part" 2>&1 </dev/null || true
    cat "$log.part" >>"$log"
    drop_quick "$target"
    executions=$((executions + $(sed -n 's/^stat::number_of_executed_units: *//p' "$log.part" | tail -1 | grep . || echo 0)))
    rm -rf "${scratch:?}/$target"/*
    rest=$((seconds - (SECONDS - started)))
    [ "$(find "$findings/$target" -type f | wc -l)" -lt 20 ] || break # nothing new in more of them
  done
  local edges found
  edges=$(grep -o 'cov: [0-9]*' "$log" | sort -t' ' -k2n | tail -1 | cut -c6-)
  found=$(find "$findings/$target" -type f | wc -l)
  printf '%-12s %12d executions %7s edges %6d s %4d findings\n' "$target" "$executions" "${edges:-0}" $((SECONDS - started)) "$found"
}

targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(grep -oh '{"[a-z0-9_]*"' tests/fuzz/{file,remote,value}_targets.cpp | cut -d'"' -f2)
build_targets

# Files that targets read and write lie in memory.
scratch=$(mktemp -d -p "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" penstock-fuzz-XXXXXX)
trap 'rm -rf "$scratch"' EXIT
trap 'touch "$scratch/stop"; kill $(jobs -p) 2>/dev/null; wait; exit 130' INT TERM
mkdir -p "$build/logs"
rm -rf "$build/seeds"
"$build/tests/fuzz/fuzz_seeds" "$build/seeds"

for target in "${targets[@]}"; do
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
  fuzz "$target" &
done
wait
[ -z "$(find "$findings" -type f -print -quit)" ]
