#!/usr/bin/env bash
# Usage: bench/demo.sh [DIR]
# Installs missing packages, builds, and makes 2,000 photograph-like images and 20,000 icons. DIR replaces the images: a
# folder of class folders with your own images. Packs each set into tar, LMDB and HDF5, and compares the folder with
# these formats in one table.
# Everything goes to build/demo: the reports are report.html and report.json. Safe to repeat; the second run is quick.
# Environment: DEMO_SECONDS, measured time for each row (4).
set -euo pipefail
own_images=${1:+$(realpath -- "$1")}
cd "$(dirname "$0")/.."

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  sed -n '2s/^# //p' "$0" >&2
  exit 2
fi
if [ -n "$own_images" ] && [ ! -d "$own_images" ]; then
  echo "demo: $own_images is not a folder" >&2
  exit 1
fi

scripts/install_dependencies.sh --without-torch
scripts/build.sh release penstock_command
penstock=$PWD/build/release/bindings/cli/penstock
demo=$PWD/build/demo
mkdir -p "$demo"
cd "$demo"

say() { printf '\n== %s\n' "$*"; }

# pack SOURCE NAME FORMAT: makes NAME.FORMAT.d, unless it exists and no file of the source is newer.
pack() {
  local destination=$2.$3.d
  if [ -e "$destination/penstock.json" ] && [ -z "$(find -L "$1" -newer "$destination/penstock.json" -print -quit)" ]; then
    return
  fi
  say "packing $2 into $3"
  "$penstock" pack "$1" "$destination" --format "$3" --overwrite --on-error skip
}

if [ -n "$own_images" ]; then
  images=$own_images
  name=$(basename "$own_images")-$(printf %s "$own_images" | sha256sum | cut -c1-6)
else
  images=$demo/images
  name=images
  if [ ! -d images ]; then
    say "making 2,000 images"
    "$penstock" synth images images -n 2000
  fi
fi
if [ ! -d icons ]; then
  say "making 20,000 icons"
  "$penstock" synth icons icons -n 20000
fi

datasets=("$images")
for format in tar lmdb hdf5; do
  pack "$images" "$name" "$format"
  datasets+=("$name.$format.d")
done
datasets+=(icons)
for format in tar lmdb hdf5; do
  pack icons icons "$format"
  datasets+=("icons.$format.d")
done

say "proving that the packings equal their sources"
for format in tar lmdb hdf5; do
  "$penstock" verify "$name.$format.d"
  "$penstock" verify "icons.$format.d" --against icons
done

say "measuring (every row in turns, ${DEMO_SECONDS:-4} s each)"
"$penstock" bench "${datasets[@]}" --seconds "${DEMO_SECONDS:-4}" --json report.json --html report.html
say "reports: $demo/report.html and $demo/report.json"
