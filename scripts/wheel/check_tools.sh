#!/usr/bin/env bash
# Usage: scripts/wheel/check_tools.sh ARCH PYTHON...
# Fails with a list of all programs that scripts/wheel.sh needs from the system, and that are not there. The other tools
# come from PyPI (requirements.txt) or from pinned sources (build_tools.txt).
set -euo pipefail
arch=$1
shift
missing=()
for program in find grep patch sed; do command -v "$program" >/dev/null || missing+=("$program"); done
# OpenSSL's Configure uses these modules. RHEL has a separate package for each.
if command -v perl >/dev/null; then
  for module in File::Compare File::Copy FindBin IPC::Cmd; do
    perl "-M$module" -e 1 2>/dev/null || missing+=("perl's module $module")
  done
else
  missing+=(perl)
fi
oldest=10  # Python 3.10 for the tools, as python3
for python in python3 "$@"; do
  "$python" -c "import sys; sys.exit(sys.version_info < (3, $oldest))" 2>/dev/null || missing+=("$python (3.$oldest or newer)")
  oldest=9
done
for python in python3 "$@"; do
  "$python" -c '' 2>/dev/null || continue
  "$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("$python's modules venv and ensurepip")
done
# PyPI's CMake and ninja are linked with it.
python3 -c 'import ctypes; ctypes.CDLL("libstdc++.so.6")' 2>/dev/null || missing+=(libstdc++.so.6)
for python in "$@"; do
  header=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include") + "/Python.h")' 2>/dev/null) || continue
  [ -e "$header" ] || missing+=("$python's header $header")
done
if [ "$arch" != "$(uname -m)" ]; then
  for program in "qemu-$arch-static" apt-get dpkg; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
fi
[ ${#missing[@]} -gt 0 ] || exit 0
list=$(printf '%s, ' "${missing[@]}")
echo "wheel: missing: ${list%, }. Without root, load the site's modules (module load Python Perl), or install these" \
  "with Conda, Spack or EasyBuild. On Debian: apt-get install patch perl python3-dev python3-venv qemu-user-static" >&2
exit 1
