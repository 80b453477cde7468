#!/usr/bin/env bash
# Usage: scripts/wheel/licenses.sh SOURCES ZIG_FOLDER PYTHON FOLDER
# Copies the licences of a wheel's contents into FOLDER, one folder each: for the libraries of sources.txt from SOURCES;
# for the C++ library of zig; for nanobind and the table inside it from the packages of PYTHON. Fails if one is missing:
# a new library needs its own line here unless its text is called LICENSE.
set -euo pipefail
pins=$(realpath "$(dirname "$0")/sources.txt")
sources=$(realpath "$1")
zig=$(realpath "$2")
python=$3
rm -rf "$4" && mkdir -p "$4"
folder=$(realpath "$4")
take() { # NAME FILE...
  local name=$1
  shift
  mkdir -p "$folder/$name"
  cp "$@" "$folder/$name"
}
grep -v '^#' "$pins" | while read -r package _; do
  cd "$sources/$package"
  case $package in
    c-blosc) texts=(LICENSES/*) ;;
    curl | libdeflate) texts=(COPYING) ;;
    expat) texts=(expat/COPYING) ;;
    hdf5) texts=(COPYING COPYING_LBNL_HDF5) ;;
    libjpeg-turbo) texts=(LICENSE.md README.ijg) ;;
    libwebp) texts=(COPYING PATENTS) ;;
    lmdb) texts=(libraries/liblmdb/{LICENSE,COPYRIGHT}) ;;
    lz4) texts=(lib/LICENSE) ;;
    nlohmann-json3) texts=(LICENSE.MIT) ;;
    onetbb) texts=(LICENSE.txt third-party-programs.txt) ;;
    openssl) texts=(LICENSE.txt) ;;
    *) texts=(LICENSE) ;;
  esac
  take "$package" "${texts[@]}"
done
take libcxx "$zig"/lib/libcxx/LICENSE.TXT
take compiler-rt "$zig"/LICENSE
nanobind=$("$python" -c 'import nanobind; print(nanobind.__path__[0])')
take nanobind "$nanobind"-*.dist-info/licenses/LICENSE
mkdir "$folder/robin_map"
sed -n '1,/\*\//p' "$nanobind/ext/robin_map/include/tsl/robin_map.h" >"$folder/robin_map/LICENSE"
grep -q 'MIT License' "$folder/robin_map/LICENSE"
