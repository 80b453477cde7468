#!/usr/bin/env bash
# Usage: scripts/wheel.sh [--fetch-only|--offline] [--arch x86_64|aarch64] [PYTHON...]
#        scripts/wheel.sh --of-this-system [PYTHON...]
# Builds self-contained wheels into build/wheels, one for each named interpreter (default: python3), and tests them. A
# wheel made by Python 3.12 or newer serves all later versions. Wheels are for Linux with glibc 2.28 or newer
# (manylinux_2_28). The compiler is zig's, from PyPI, and all included libraries are built from the sources in
# wheel/sources.txt. Needs no root. Downloads and builds stay in build/wheel, or in $PENSTOCK_WHEEL_CACHE, for the next
# run.
# Without options, downloads what the cache lacks, and builds.
# --fetch-only: only downloads, into the folders archives and packages of the cache. Requires Debian's apt-get.
# --offline: uses no network, only these two folders. They may be copies from another machine with this processor.
# --arch: A wheel for aarch64 made on x86-64 uses the stubs of the same Python's wheel for this processor. Make that
# wheel first, from the same sources. qemu tests the wheel if a Debian has its Python (3.9, 3.11, 3.12 or newer).
# --of-this-system: Uses this system's compiler and libraries. Builds the CUDA part if nvcc is installed. Older systems
# cannot run such wheels.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
arch=$(uname -m)
fetch=yes
build=yes
while [ $# -gt 0 ]; do
  case "$1" in
    --of-this-system) shift; exec scripts/wheel/of_this_system.sh "$@" ;;
    --fetch-only) build=; shift ;;
    --offline) fetch=; shift ;;
    --arch) arch=$2; shift 2 ;;
    -h | --help) sed -n '2,/^set/s/^# \?//p' "$0"; exit ;;
    -*) echo "wheel: no option $1" >&2; exit 2 ;;
    *) break ;;
  esac
done
case "$arch" in x86_64 | aarch64) ;; *) echo "wheel: no wheels for $arch: x86_64 or aarch64" >&2; exit 2 ;; esac
[ $# -gt 0 ] || set -- python3
cache=${PENSTOCK_WHEEL_CACHE:-$here/build/wheel}
work=$cache/$arch
wheels=$here/build/wheels
[ -z "$build" ] || scripts/wheel/check_tools.sh "$arch" "$@"
[ -z "$fetch" ] || scripts/wheel/fetch.sh "$cache" "$@"
[ -n "$build" ] || exit 0
version_of() { "$1" -c 'import sys; print("cp%d%d" % sys.version_info[:2])'; }
bindings=$(cat bindings/python/*.?pp | sha256sum)  # the sources that stubs are made from
if [ "$arch" != "$(uname -m)" ]; then
  for python in "$@"; do
    [ "$(cat "$cache/stubs-$(version_of "$python").of" 2>/dev/null)" = "$bindings" ] ||
      { echo "wheel: make the wheel for $(uname -m) and $python first: the one for $arch takes its stubs" >&2; exit 1; }
  done
fi
mkdir -p "$wheels" "$work"

pip_install=(-m pip install --quiet --disable-pip-version-check --no-index --find-links "$cache/packages")
tools=$cache/tools
[ -x "$tools/bin/python" ] || python3 -m venv "$tools"
"$tools/bin/python" "${pip_install[@]}" -r scripts/wheel/requirements.txt
export PATH=$tools/bin:$PATH
export ZIG_GLOBAL_CACHE_DIR=$cache/zig ZIG_LOCAL_CACHE_DIR=$cache/zig CCACHE_COMPILERTYPE=clang
PKG_CONFIG=$("$tools/bin/python" -c 'import pkgconf; print(pkgconf.get_executable())')  # not its slow Python program
export PKG_CONFIG
zig=$("$tools/bin/python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')
scripts/wheel/compiler.sh "$arch" "$work/compiler" "$zig"
python3 scripts/wheel/sources.py unpack "$cache/archives" "$cache/sources"
if [ "$arch" != "$(uname -m)" ]; then
  scripts/wheel/python_root.sh "$arch" bookworm "$cache/roots/bookworm-$arch"
  export QEMU_LD_PREFIX=$cache/roots/bookworm-$arch
fi
scripts/wheel/dependencies.sh "$arch" "$cache/sources" "$work"

for python in "$@"; do
  version=$(version_of "$python")
  venv=$cache/$version
  [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
  "$venv/bin/python" "${pip_install[@]}" -r scripts/wheel/requirements_package.txt
  # Debian's Python headers include <ARCH-linux-gnu/pythonX.Y/pyconfig.h>, which is stored among the headers of its C
  # library. The copy here serves both processors, because the sizes of types are the same, and nothing else in it
  # matters.
  headers=$work/headers  # one for all, so that the flags of what does not depend on Python stay the same
  mkdir -p "$headers/$arch-linux-gnu"
  config=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_config_h_filename())')
  debian=${config/include/include/$(uname -m)-linux-gnu}  # the file that Debian's own pyconfig.h includes
  if [ -e "$debian" ]; then config=$debian; fi
  ln -sfn "$(dirname "$config")" "$headers/$arch-linux-gnu/$(basename "$(dirname "$config")")"
  scripts/wheel/licenses.sh "$cache/sources" "$(dirname "$zig")" "$venv/bin/python" "$work/licenses"
  rm -rf "$work/raw" && mkdir "$work/raw"
  rm -f "$work/penstock/CMakeCache.txt"  # knows the last Python; what does not depend on it is not compiled again
  options=(PENSTOCK_STATIC=ON PENSTOCK_CUDA=OFF "PENSTOCK_LICENSES=$work/licenses"
    "CMAKE_TOOLCHAIN_FILE=$work/compiler/toolchain.cmake"
    "CMAKE_FIND_ROOT_PATH=$work/prefix;$venv" "CMAKE_PREFIX_PATH=$work/prefix" "CMAKE_CXX_FLAGS=-g0 -ffp-contract=off -idirafter $headers")
  if command -v ccache >/dev/null; then options+=(CMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
  suffix=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
  stubs=$cache/stubs-$version
  if [ "$arch" != "$(uname -m)" ]; then options+=("PENSTOCK_STUBS=$stubs"); fi
  echo "wheel: building penstock for $python, $arch"
  SETUPTOOLS_EXT_SUFFIX=${suffix/$(uname -m)/$arch} _PYTHON_HOST_PLATFORM=linux-$arch PKG_CONFIG_LIBDIR=$work/prefix/lib/pkgconfig PKG_CONFIG_PATH='' \
    "$venv/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$work/raw" \
    -C build-dir="$work/penstock" "${options[@]/#/-Ccmake.define.}" .
  if [ "$arch" = "$(uname -m)" ]; then
    rm -rf "$stubs" && cp -rL "$work/penstock/python/penstock/_penstock" "$stubs"
    echo "$bindings" >"$stubs.of"
  fi
  raw=$(echo "$work"/raw/*.whl)
  rm -f "$wheels/$(basename "$raw" "linux_$arch.whl")"*"$arch.whl"
  plat=manylinux_2_28_$arch
  [ "$arch" = "$(uname -m)" ] || plat=auto  # of another processor it knows no names; inspect_wheel.py looks at the tag
  auditwheel repair --plat "$plat" --wheel-dir "$wheels" "$raw" 2>"$work/auditwheel.log" ||
    { cat "$work/auditwheel.log" >&2; exit 1; }
  wheel=$(echo "$wheels/$(basename "$raw" "linux_$arch.whl")"*"$arch.whl")
  "$tools/bin/python" scripts/wheel/inspect_wheel.py "$wheel"
  echo "wheel: trying it with $python"
  if [ "$arch" = "$(uname -m)" ]; then
    scripts/wheel/try.sh "$wheel" "$python"
  else
    scripts/wheel/try_aarch64.sh "$wheel"
  fi
  echo "wheel: $wheel"
done
