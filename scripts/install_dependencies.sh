#!/usr/bin/env bash
# Usage: scripts/install_dependencies.sh [--without-torch] [PACKAGE...]
# Installs the Debian packages that building penstock requires, and the named ones. If all are installed, prints and
# changes nothing.
# --without-torch: skips libtorch, which only the tests and examples of bindings/torch need.
set -euo pipefail

packages=(
  ca-certificates ccache cmake g++ git ninja-build pkg-config python3 python3-dev python3-venv
  doctest-dev libcli11-dev libdeflate-dev libhdf5-dev libhwy-dev libjpeg62-turbo-dev liblmdb-dev libspng-dev libtbb-dev
  libblosc-dev libbz2-dev libcurl4-openssl-dev libexpat1-dev liblz4-dev libssl-dev liburing-dev libwebp-dev libzstd-dev nlohmann-json3-dev zlib1g-dev
)
if [ "${1:-}" = --without-torch ]; then shift; else packages+=(libtorch-dev); fi
packages+=("$@")

if ! command -v dpkg-query >/dev/null; then
  echo "install_dependencies: not a Debian system; what is needed: ${packages[*]}" >&2
  exit 0
fi

is_installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "install_dependencies: neither root nor sudo; please have these installed: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
apt_get() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -qq "$@" </dev/null; }

echo "Installing: ${missing[*]}"
apt_get update
apt_get install --yes --no-install-recommends "${missing[@]}" >/dev/null
