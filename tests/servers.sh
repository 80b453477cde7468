#!/usr/bin/env bash
# Usage: tests/servers.sh [SECONDS]
# Servers in network namespaces of their own, joined by a bridge: 1, 2 and 5 servers, while one of them is killed and
# started again every second, for SECONDS each (20 unless told otherwise). Every batch must have the digest that a loader
# without servers gives. Then 1,000 connections that say nothing, and the rate of stored rows beside a plain copy of the
# same bytes over TCP. Requires root, for the namespaces. Builds what it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "servers: needs root, for network namespaces" >&2; exit 1; }
scripts/install_dependencies.sh iproute2
scripts/python_environment.sh
scripts/build.sh dev penstock_command _penstock >/dev/null
export PYTHONPATH=$PWD/build/dev/python PENSTOCK_COMMAND=$PWD/build/dev/bindings/cli/penstock
exec .venv/bin/python tests/python/serving/campaign.py --seconds "${1:-20}"
