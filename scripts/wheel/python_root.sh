#!/usr/bin/env bash
# Usage: scripts/wheel/python_root.sh ARCH SUITE FOLDER [PACKAGE...]
# Makes FOLDER the root of a Debian for ARCH. SUITE is its name (bullseye, bookworm, trixie). The root contains the C
# library, Python with pip, and the named packages. The files of its packages are unpacked and not configured, which suffices for
# `chroot` or qemu to run that Python. Keeps existing files.
set -euo pipefail
arch=$1
suite=$2
case "$arch" in x86_64) debian_arch=amd64 ;; aarch64) debian_arch=arm64 ;; *) echo "python_root: no $arch" >&2; exit 2 ;; esac
[ ! -e "$3/.complete" ] || exit 0
rm -rf "$3"
mkdir -p "$3/apt/lists/partial" "$3/apt/cache/archives/partial"
cd "$3"
root=$PWD
touch apt/status
site=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' | grep -v security | head -n1)
echo "deb $site $suite main" >apt/sources.list
apt_get() {
  apt-get -qq -o "APT::Architecture=$debian_arch" -o "APT::Architectures=$debian_arch" -o APT::Sandbox::User=root \
    -o "Dir::Etc::SourceList=$root/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Status=$root/apt/status" \
    -o "Dir::State::Lists=$root/apt/lists" -o "Dir::Cache=$root/apt/cache" -o Acquire::Check-Valid-Until=false "$@"
}
apt_get update
apt_get install --download-only --yes --no-install-recommends python3 python3-pip coreutils dash "${@:4}" >/dev/null
for package in apt/cache/archives/*.deb; do dpkg -x "$package" .; done
rm -rf apt
for folder in bin lib sbin; do [ -e $folder ] || ln -s usr/$folder $folder; done  # which newer packages leave to base-files
mkdir -p proc dev tmp etc
echo "127.0.0.1 localhost" >etc/hosts  # the TLS checks connect to this name
touch .complete
