#!/usr/bin/env bash
# Usage: bench/studies/sampling.sh [DIR]
# Installs missing packages, builds, and makes 24 laser scans of trees. DIR replaces the scans: your own clouds in any
# format. Compares the methods of taking 4,096 points of each cloud in one table: time, bytes read, coverage, and the
# cost of packing.
# Everything goes to build/sampling: the reports are report.html and report.json. Safe to repeat.
# Environment: SAMPLING_SECONDS, measured time for each method (4); SAMPLING_POINTS, points taken (4096).
set -euo pipefail
own_clouds=${1:+$(realpath -- "$1")}
cd "$(dirname "$0")/../.."

if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  sed -n '2s/^# //p' "$0" >&2
  exit 2
fi

scripts/install_dependencies.sh --without-torch
scripts/build.sh release penstock_command
penstock=$PWD/build/release/bindings/cli/penstock
mkdir -p build/sampling
cd build/sampling

clouds=${own_clouds:-clouds}
if [ ! -e "$clouds" ]; then
  printf '\n== making 24 clouds\n'
  "$penstock" synth clouds clouds -n 24
fi
printf '\n== comparing\n'
"$penstock" bench-sampling "$clouds" --points "${SAMPLING_POINTS:-4096}" --seconds "${SAMPLING_SECONDS:-4}" \
  --scratch packed --json report.json --html report.html
printf '\n== reports: %s and report.json\n' "$PWD/report.html"
