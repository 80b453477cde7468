#!/usr/bin/env bash
# Usage: tests/campaign.sh [HOURS] [--seed S]
# Random damage to every file of packed and foreign datasets, under every engine, with failing memory, threads, files and
# signals, with kills, from Python, and servers that misbehave. One hour (HOURS may be 0.2) has about a third of a full campaign on two cores.
# Prints what came of the trials, and a line for each finding that repeats it: build/release/tests/campaign/campaign
# --seed S --replay N. Runs of different seeds add up; without --seed the seed is the time. Exit 1 with findings.
set -euo pipefail
cd "$(dirname "$0")/.."

hours=1 seed=$(date +%s)
while [ $# -gt 0 ]; do
  case $1 in
    --seed) seed=${2:?--seed takes a number}; shift ;;
    [0-9]* | .[0-9]*) hours=$1 ;;
    *) sed -n '2,7s/^# //p' "$0" >&2; exit 2 ;;
  esac
  shift
done
seconds=$(awk -v hours="$hours" 'BEGIN { print int(hours * 3600) }')

scripts/install_dependencies.sh
scripts/python_environment.sh
scripts/build.sh release penstock_campaign _penstock remote_probe >/dev/null
program=build/release/tests/campaign/campaign

# Of the time, six tenths are for trials in process, two for kills, one for Python, one for servers; each in two processes at a time.
share() { echo $((seconds * $1 / 10)); }
found=0
both() {
  "$@" --seed "$seed" & local first=$!
  "$@" --seed "$((seed + 1))" & local second=$!
  wait "$first" || found=1
  wait "$second" || found=1
}
both "$program" --count 100000000 --seconds "$(share 6)"
both "$program" --count 0 --kills 100000000 --seconds "$(share 2)"
if [ -d build/release/python/penstock ]; then
  both env PYTHONPATH=build/release/python .venv/bin/python tests/python/campaign.py --seconds "$(share 1)"
else
  echo "Python: not built here, its trials are left out"
fi
both .venv/bin/python tests/remote/campaign_of_faults.py build/release/tests/remote_probe --faults 100000000 --seconds "$(share 1)"
exit $found
