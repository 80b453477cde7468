#!/usr/bin/env bash
# Usage: scripts/wheel/fetch.sh FOLDER
# Downloads the sources in sources.txt and unpacks each into FOLDER/PACKAGE. Fails if a checksum differs. Keeps existing
# sources. If a version has left Debian's archive, update it and its checksum in sources.txt.
set -euo pipefail
pins=$(realpath "$(dirname "$0")/sources.txt")
mkdir -p "$1/apt/lists/partial" "$1/apt/cache/archives/partial"
cd "$1"
apt=$PWD/apt
# The archive of this system's packages, as sources: releases before their security updates.
apt-get indextargets --format 'deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
  sort -u -k3,3 >apt/sources.list
apt_get() {
  apt-get -qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null \
    -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt/cache" -o APT::Sandbox::User=root "$@"
}
is_listed=
grep -v '^#' "$pins" | while read -r package version sum; do
  [ "$(cat "$package/.penstock_pin" 2>/dev/null)" != "$version $sum" ] || continue
  [ -n "$is_listed" ] || { apt_get update; is_listed=yes; }
  rm -rf "$package" apt/files && mkdir apt/files
  (cd apt/files && apt_get --download-only source "$package=$version")
  echo "$sum  $(echo apt/files/*.dsc)" | sha256sum --check --status ||
    { echo "fetch: $package $version has another sum than sources.txt says: $(sha256sum apt/files/*.dsc)" >&2; exit 1; }
  dpkg-source --no-check --no-copy -x apt/files/*.dsc "$package" >/dev/null
  echo "$version $sum" >"$package/.penstock_pin"
done
