#!/usr/bin/env bash
# Usage: tests/prometheus.sh [SECONDS]
# Checks docs/monitoring/alerts.yml: promtool reads the rules and runs their unit tests, and a Prometheus scrapes trainings
# through `penstock top --metrics`. First the trainings are healthy, and no alert may fire. Then loaders become slow or hang,
# and samples are invalid; exactly the expected alerts must fire. SECONDS is the length of a minute in the copy of
# the rules that Prometheus evaluates: 5 by default, so the script takes a minute and a half; with 60, a quarter of
# an hour. Installs prometheus (Debian; root or sudo), and builds the command and the package.
# PENSTOCK_BUILD=FOLDER: uses this build, and builds nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD minute=${1:-5}

if ! command -v promtool >/dev/null || ! command -v prometheus >/dev/null; then
  sudo=$([ "$(id -u)" = 0 ] || echo sudo)
  $sudo apt-get update -qq
  # Without the service of the package, which would serve on all addresses.
  $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends prometheus >/dev/null
fi
promtool check rules docs/monitoring/alerts.yml
promtool test rules tests/prometheus/alerts_test.yml

if [ -z "${PENSTOCK_BUILD:-}" ]; then
  scripts/python_environment.sh
  scripts/build.sh dev penstock_command _penstock >/dev/null
fi
build=${PENSTOCK_BUILD:-$root/build/dev}
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1
python=$root/.venv/bin/python
folder=$(mktemp -d /tmp/penstock-prometheus.XXXXXX)
began=$SECONDS
say() { printf '%4d s  %s\n' $((SECONDS - began)) "$*"; }
pids=()
end() {
  status=$?
  if [ ${#pids[@]} != 0 ]; then { kill -KILL "${pids[@]}" && wait "${pids[@]}"; } 2>/dev/null || true; fi
  if [ $status != 0 ]; then
    tail -n 20 "$folder"/*.log
    say "tests/prometheus.sh: FAILED"
  fi
  rm -rf "$folder"
}
trap end EXIT
trap 'exit 130' INT TERM
in_background() { # LOG COMMAND...
  "${@:2}" >"$folder/$1.log" 2>&1 &
  pids+=($!)
}
train() { # DATA RANK WORLD SECONDS
  in_background "$1-$2" "$python" tests/prometheus/train.py "$folder/$1" "$2" "$3" "$4" "$folder/delay"
}
# wait_for SECONDS COMMAND...: until the command succeeds
wait_for() {
  local deadline=$((SECONDS + $1))
  until "${@:2}"; do
    if [ $SECONDS -ge $deadline ]; then
      say "not within $1 s: ${*:2}"
      exit 1
    fi
    sleep 0.2
  done
}

"$python" - "$folder" <<'END'
import pathlib
import sys

import numpy as np

for name in ("ranks", "hangs", "fine", "invalid"):
    folder = pathlib.Path(sys.argv[1], name)
    folder.mkdir()
    for number in range(200):
        np.save(folder / f"{number:03}.npy", np.full(8, number))
        if name == "invalid" and number % 20 == 0:
            (folder / f"{number:03}.npy").write_bytes(b"no array")
END

# --- Prometheus
sed -E "s/\b([0-9]+)m\b/\1 m/g" docs/monitoring/alerts.yml |
  awk -v minute="$minute" '{
    while (match($0, /[0-9]+ m/)) {
      count = substr($0, RSTART, RLENGTH - 2)
      $0 = substr($0, 1, RSTART - 1) count * minute "s" substr($0, RSTART + RLENGTH)
    }
    gsub(/> 30\)/, "> " minute / 2 ")")
    print
  }' >"$folder/alerts.yml"
promtool check rules "$folder/alerts.yml" >/dev/null
in_background top "$build/bindings/cli/penstock" top --metrics 0
wait_for 60 grep -q '/metrics' "$folder/top.log"
port=$(grep -o '127.0.0.1:[0-9]*' "$folder/top.log")
scrape=$((minute < 20 ? 1 : minute / 4))
cat >"$folder/prometheus.yml" <<END
global: {scrape_interval: ${scrape}s, scrape_timeout: ${scrape}s, evaluation_interval: ${scrape}s}
rule_files: [$folder/alerts.yml]
scrape_configs:
  - {job_name: trainings, static_configs: [{targets: ["$port"]}]}
END
address=127.0.0.1:$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
in_background prometheus prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/tsdb" \
  --web.listen-address="$address"
get() { curl --silent --fail --noproxy '*' "http://$address$1"; }
wait_for 60 get /-/ready >"$folder/ready"
say "$(prometheus --version 2>&1 | head -n 1)"

# Alerts that fire, one per line: "PenstockSlowRank ranks 1". Other programs on the machine do not count.
firing() {
  get /api/v1/alerts | "$python" -c '
import json
import sys

for alert in json.load(sys.stdin)["data"]["alerts"]:
    labels = alert["labels"]
    if alert["state"] == "firing" and labels["program"] in ("ranks", "hangs", "fine", "invalid"):
        print(labels["alertname"], labels["program"], labels["rank"])' | sort
}
is_firing() { [ "$(firing)" = "$1" ]; }
scraped() { # NUMBER of trainings
  get "/api/v1/query?query=count(penstock_samples_total%7Bprogram=~%22ranks|hangs|fine|invalid%22%7D)" | grep -q "\"$1\""
}

# --- healthy trainings
train ranks 0 2 0
train ranks 1 2 0.1
train hangs 0 1 100000
train fine 0 1 0
wait_for 60 scraped 4
say "4 loaders are scraped; a minute takes $minute s"
for _ in $(seq $((7 * minute))); do
  sleep 1
  if ! is_firing ""; then
    firing
    exit 1
  fi
done
say "no alert in seven minutes of healthy trainings"

# --- rank 1 becomes slow, a loader hangs, and samples are invalid
touch "$folder/delay"
train invalid 0 1 0
expected='PenstockDataWait hangs 0
PenstockDataWait ranks 1
PenstockErrorRate invalid 0
PenstockSlowRank ranks 1'
wait_for $((20 * minute)) is_firing "$expected"
firing | sed 's/^/        /'
get /api/v1/alerts | "$python" -c '
import json
import sys

for alert in json.load(sys.stdin)["data"]["alerts"]:
    print("       ", alert["annotations"]["description"])'
say "the expected alerts fire"

# --- they end with the loader's trouble
rm "$folder/delay"
wait_for $((20 * minute)) is_firing 'PenstockDataWait hangs 0
PenstockErrorRate invalid 0'
say "rank 1 is healthy again, and its alerts have ended"
say "tests/prometheus.sh: passed"
