#!/usr/bin/env bash
# Usage: bench/studies/stage.sh DATASET FOLDER [ROUNDS]
# Measures MB/s of copying DATASET to FOLDER (which must not exist) by cp and by penstock stage, interleaved: median and
# quartiles. Rows with "cold" drop the source from the page cache first. cp leaves its bytes in memory. "cp, synced"
# waits until they are on the disk, as stage does for each file.
set -euo pipefail
dataset=${1:?DATASET} folder=${2:?FOLDER} rounds=${3:-7}
penstock=${PENSTOCK_COMMAND:-build/release/bindings/cli/penstock}
[ ! -e "$folder" ] || { echo "$folder exists" >&2; exit 2; }
bytes=$(du -sb "$dataset" | cut -f1)
times=$(mktemp)
trap 'rm -rf "$times" "$folder" "$folder.partial"' EXIT

forget() { find "$dataset" -type f -exec dd if={} iflag=nocache count=0 status=none \; ; }
# Syncs only the files that cp wrote, not the whole file system.
synced() { cp -r "$dataset" "$folder" && find "$folder" -type f -exec sync {} +; }

timed() {  # NAME COMMAND...
  local name=$1 begin end
  shift
  rm -rf "$folder"
  [[ $name != *cold* ]] || forget
  begin=$(date +%s%N)
  "$@" >/dev/null
  end=$(date +%s%N)
  printf '%s\t%s\n' "$name" "$((bytes * 1000 / (end - begin)))" >>"$times"
}

cat $(find "$dataset" -type f) >/dev/null
for ((round = 0; round < rounds; ++round)); do
  timed "cp" cp -r "$dataset" "$folder"
  timed "cp, synced" synced
  timed "stage" "$penstock" stage "$dataset" "$folder"
  timed "stage --no-verify" "$penstock" stage "$dataset" "$folder" --no-verify
  timed "stage --verify" "$penstock" stage "$dataset" "$folder" --verify
  timed "stage --engine pread" "$penstock" stage "$dataset" "$folder" --engine pread
  timed "cp, synced, cold" synced
  timed "stage, cold" "$penstock" stage "$dataset" "$folder"
done

echo "| how | MB/s | quartiles |"
echo "| --- | --: | --: |"
cut -f1 "$times" | awk '!seen[$0]++' | while read -r name; do
  awk -F'\t' -v name="$name" '$1 == name { print $2 }' "$times" | sort -n |
    awk -v name="$name" '{ v[NR] = $1 } END { printf "| %s | %d | %d-%d |\n", name, v[int((NR + 1) / 2)], v[int((NR + 3) / 4)], v[int((3 * NR + 1) / 4)] }'
done
