#!/usr/bin/env bash
# Usage: scripts/release.sh [PYTHON...]
# Makes the files of a release in build/release: a wheel for x86-64 and one for aarch64 for each named interpreter
# (default: python3.9, python3.10, python3.11 and python3.12), a source distribution, and SHA256SUMS. Tests each file:
# each wheel as scripts/wheel.sh does, the one for Python 3.9 also on Debian 11 (as root). The source distribution is
# installed in a fresh environment, which compiles it with this system's compiler and libraries. Requires x86-64, and a
# checkout without uncommitted changes.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
fail() { echo "release: $*" >&2; exit 1; }
[ $# -gt 0 ] || set -- python3.9 python3.10 python3.11 python3.12
[ "$(uname -m)" = x86_64 ] || fail "made on x86_64, not on $(uname -m)"
for python in "$@"; do "$python" -c '' 2>/dev/null || fail "no $python; name the interpreters that wheels are for"; done
changes=$(git status --porcelain) || fail "not a git checkout: what it holds cannot be compared with what is committed"
[ -z "$changes" ] || fail "the work tree differs from what is committed: $(head -n1 <<<"$changes")"
release=$here/build/release
rm -rf "$release" build/wheels && mkdir -p "$release"
scripts/install_dependencies.sh --without-torch patch perl qemu-user-static

for arch in x86_64 aarch64; do scripts/wheel.sh --arch "$arch" "$@"; done
if [ "$(id -u)" -eq 0 ]; then
  for wheel in build/wheels/*-cp39-*x86_64.whl; do [ ! -e "$wheel" ] || scripts/wheel/on_debian11.sh "$wheel"; done
else
  echo "release: not tried on Debian 11: chroot needs root"
fi
cp build/wheels/*.whl "$release"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/build"
"$folder/build/bin/python" -m pip install --quiet --disable-pip-version-check 'scikit-build-core>=0.10'
"$folder/build/bin/python" -c 'import sys; from scikit_build_core.build import build_sdist; print(build_sdist(sys.argv[1]))' "$release"
python3 -m venv "$folder/try"
if command -v ccache >/dev/null; then export CMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
"$folder/try/bin/python" -m pip install --quiet --disable-pip-version-check "$release"/penstock-*.tar.gz
(cd "$folder" && env -u PYTHONPATH try/bin/python "$here/tests/python/check_wheel.py" --of-this-system)

cd "$release"
sha256sum ./* | sed 's# \./# #' >"$folder/sums" && mv "$folder/sums" SHA256SUMS
ls -l
