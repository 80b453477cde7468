#!/usr/bin/env bash
# Usage: scripts/wheel/fetch.sh CACHE PYTHON...
# Downloads what scripts/wheel.sh needs from a network and the cache lacks. CACHE/archives gets the source packages of
# sources.txt and build_tools.txt. CACHE/packages gets PyPI's packages: the tools of requirements.txt for python3, and
# requirements_package.txt for each named interpreter. Requires apt-get of a Debian, but no root. If a version has left
# Debian's archive, update it and its checksum in sources.txt.
set -euo pipefail
here=$(realpath "$(dirname "$0")")
mkdir -p "$1/archives" "$1/packages" "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
cache=$(realpath "$1")
shift
fail() { echo "fetch: $*" >&2; exit 1; }

apt=$cache/apt
missing=$(python3 "$here/sources.py" list "$cache/archives")
if [ -n "$missing" ]; then
  command -v apt-get >/dev/null || fail "no apt-get here. Run scripts/wheel.sh --fetch-only on a Debian, in a container" \
    "for example, copy the folders archives and packages of its cache to $cache, and run scripts/wheel.sh --offline." \
    "These sources are not in $cache/archives: $(tr '\n' ' ' <<<"$missing")"
  # The archive of this system's packages, as sources: releases before their security updates.
  apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
    sort -u -k3,3 >"$apt/sources.list"
  [ -s "$apt/sources.list" ] || fail "apt-get knows no archive of Debian; run apt-get update as root, or use a Debian"
  apt_get() {
    apt-get -qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
      -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root "$@"
  }
  apt_get update
  cd "$cache/archives"
  for source in $missing; do apt_get --download-only source "$source"; done
  cd - >/dev/null
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
download() { # PYTHON REQUIREMENTS
  local version wanted stamp
  version=$("$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  wanted=$(sha256sum <"$here/$2")
  stamp=$cache/packages/$version.$2.fetched
  [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ] || return 0
  local venv=$folder/$version.$2  # one for each call: an interpreter cannot renew the venv that another one made
  "$1" -m venv "$venv"
  "$venv/bin/python" -m pip download --quiet --disable-pip-version-check --only-binary :all: \
    --dest "$cache/packages" -r "$here/$2"
  echo "$wanted" >"$stamp"
}
download python3 requirements.txt
for python in "$@"; do download "$python" requirements_package.txt; done
