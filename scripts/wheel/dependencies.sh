#!/usr/bin/env bash
# Usage: scripts/wheel/dependencies.sh ARCH SOURCES WORK
# Builds the libraries of sources.txt, unpacked in SOURCES, with the compilers of WORK/compiler (compiler.sh) into
# WORK/prefix. They are static and have hidden symbols. Before them, builds the programs of build_tools.txt, which only
# x86-64 needs. Each is built once per version, compiler and build recipe. HDF5 runs programs that it builds: for another
# processor, $QEMU_LD_PREFIX names a folder with the C library of ARCH.
set -euo pipefail
arch=$1
here=$(realpath "$(dirname "$0")")
pins=("$here/sources.txt")
[ "$arch" != x86_64 ] || pins=("$here/build_tools.txt" "${pins[@]}")
sources=$(realpath "$2")
work=$(realpath "$3")
prefix=$work/prefix
compiler=$work/compiler
export CCACHE_COMPILERTYPE=clang
launcher=$(command -v ccache || true)
flags=(-O3 -g0 -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections)
jobs=${PENSTOCK_WHEEL_JOBS:-$(nproc)}
export PKG_CONFIG_LIBDIR=$prefix/lib/pkgconfig PKG_CONFIG_PATH= PATH=$prefix/bin:$PATH

pc() { # NAME VERSION LIBS [REQUIRES]: how CMake finds a library, all that it needs included
  mkdir -p "$prefix/lib/pkgconfig"
  printf '%s\n' "Name: $1" "Description: $1" "Version: $2" "Requires: ${4:-}" "Cflags: -I$prefix/include" \
    "Libs: -L$prefix/lib $3" >"$prefix/lib/pkgconfig/$1.pc"
}

archive() { # LIBRARY FOLDER FLAG... -- SOURCE...: compiles C and assembler files of a folder into a static library
  local library=$1 objects=() options=()
  cd "$2"
  shift 2
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  local out=$work/build/$library
  rm -rf "$out" && mkdir -p "$out" "$prefix/lib"
  for file in "$@"; do
    ${launcher:+"$launcher"} "$compiler/cc" "${flags[@]}" "${options[@]}" -I"$prefix/include" -c "$file" -o "$out/${file//\//_}.o"
    objects+=("$out/${file//\//_}.o")
  done
  rm -f "$prefix/lib/$library.a"
  "$compiler/ar" rcs "$prefix/lib/$library.a" "${objects[@]}"
}

with_cmake() { # PACKAGE FOLDER OPTION...
  local package=$1 folder=$2
  shift 2
  rm -rf "$work/build/$package" && mkdir "$work/build/$package"
  cd "$work/build/$package"  # where HDF5's configuration looks for what its probes write
  cmake -G Ninja -S "$folder" -B "$work/build/$package" --toolchain "$compiler/toolchain.cmake" -DCMAKE_FIND_ROOT_PATH="$prefix" \
    -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_C_FLAGS="${flags[*]}" -DCMAKE_CXX_FLAGS="${flags[*]} -fvisibility-inlines-hidden" -DCMAKE_POLICY_DEFAULT_CMP0063=NEW \
    ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"} -Wno-dev "$@"
  cmake --build "$work/build/$package" --parallel "$jobs"
  cmake --install "$work/build/$package"
}

headers() { mkdir -p "$prefix/include" && cp "$@" "$prefix/include"; }

build_nasm() {  # assembles libjpeg-turbo's vector code
  local out=$work/build/nasm
  rm -rf "$out" && cp -r "$1" "$out" && cd "$out"
  touch configure  # newer than its sources, so that make does not call autoconf
  CC="${launcher:+$launcher }$compiler/cc" AR="$compiler/ar" RANLIB="$compiler/ranlib" CFLAGS="-O2 -w" ./configure --prefix="$prefix"
  make -j"$jobs" nasm
  mkdir -p "$prefix/bin" && cp nasm "$prefix/bin"
}
build_zlib() {
  headers "$1"/{zlib,zconf}.h
  archive libz "$1" -DHAVE_UNISTD_H -DHAVE_STDARG_H -D_LARGEFILE64_SOURCE=1 -- adler32.c crc32.c deflate.c infback.c inffast.c \
    inflate.c inftrees.c trees.c zutil.c compress.c uncompr.c gzclose.c gzlib.c gzread.c gzwrite.c
  pc zlib 1.2.13 -lz
}
build_libdeflate() {
  headers "$1/libdeflate.h"
  archive libdeflate "$1" -I. -- $(cd "$1" && ls lib/*.c lib/*/*.c)
  pc libdeflate 1.14 -ldeflate
}
build_lz4() {
  headers "$1"/lib/{lz4,lz4hc,lz4frame}.h
  archive liblz4 "$1/lib" -I. -- lz4.c lz4hc.c lz4frame.c xxhash.c
  pc liblz4 1.9.4 -llz4
}
build_libzstd() {
  headers "$1"/lib/{zstd,zstd_errors,zdict}.h
  archive libzstd "$1/lib" -Icommon -DZSTD_MULTITHREAD=0 -DZSTD_LEGACY_SUPPORT=0 -- \
    $(cd "$1/lib" && ls common/*.c compress/*.c decompress/*.c decompress/*.S)
  pc libzstd 1.5.4 -lzstd
}
build_bzip2() {
  headers "$1/bzlib.h"
  archive libbz2 "$1" -D_FILE_OFFSET_BITS=64 -- blocksort.c bzlib.c compress.c crctable.c decompress.c huffman.c randtable.c
}
build_c-blosc() {
  with_cmake c-blosc "$1" -DBUILD_SHARED=OFF -DBUILD_TESTS=OFF -DBUILD_BENCHMARKS=OFF -DBUILD_FUZZERS=OFF -DDEACTIVATE_SNAPPY=ON \
    -DPREFER_EXTERNAL_LZ4=ON -DPREFER_EXTERNAL_ZLIB=ON -DPREFER_EXTERNAL_ZSTD=ON
  pc blosc 1.21.3 "-lblosc -lpthread" "liblz4 libzstd zlib"
}
build_liburing() {
  rm -rf "$work/build/liburing"
  cp -r "$1" "$work/build/liburing"
  (cd "$work/build/liburing" && ./configure --prefix="$prefix" --libdir="$prefix/lib" --cc="$compiler/cc" --cxx="$compiler/c++" &&
    make -C src -j"$jobs" CC="$compiler/cc" AR="$compiler/ar" RANLIB="$compiler/ranlib" CFLAGS="${flags[*]}" \
      LIBURING_CFLAGS="${flags[*]}" liburing.a)
  cp "$work/build/liburing/src/liburing.a" "$prefix/lib"
  cp -r "$work"/build/liburing/src/include/* "$prefix/include"
  pc liburing 2.3 -luring
}
build_lmdb() {
  headers "$1/libraries/liblmdb/lmdb.h"
  archive liblmdb "$1/libraries/liblmdb" -pthread -- mdb.c midl.c
  pc lmdb 0.9.24 "-llmdb -lpthread"
}
build_libjpeg-turbo() {
  with_cmake libjpeg-turbo "$1" -DCMAKE_INSTALL_LIBDIR="$prefix/lib" -DENABLE_SHARED=OFF -DWITH_TURBOJPEG=OFF -DWITH_JPEG8=OFF -DREQUIRE_SIMD=ON
}
build_libspng() {
  headers "$1/spng/spng.h"
  archive libspng "$1/spng" -DSPNG_STATIC -- spng.c
  pc spng 0.7.3 "-lspng -lm" zlib
}
build_libwebp() {
  with_cmake libwebp "$1" -DWEBP_BUILD_{ANIM_UTILS,CWEBP,DWEBP,GIF2WEBP,IMG2WEBP,VWEBP,WEBPINFO,LIBWEBPMUX,WEBPMUX,EXTRAS}=OFF
}
build_highway() {
  with_cmake highway "$1" -DHWY_ENABLE_{EXAMPLES,TESTS}=OFF -DHWY_ENABLE_INSTALL=ON -DBUILD_TESTING=OFF -DHWY_ENABLE_CONTRIB=OFF
}
build_onetbb() {
  with_cmake onetbb "$1" -DTBB_TEST=OFF -DTBB_STRICT=OFF -DTBBMALLOC_BUILD=OFF -DTBB_DISABLE_HWLOC_AUTOMATIC_SEARCH=ON -DTBB_ENABLE_IPO=OFF
}
build_hdf5() {
  with_cmake hdf5 "$1" -DHDF5_BUILD_{TOOLS,EXAMPLES,HL_LIB,CPP_LIB,FORTRAN,JAVA}=OFF -DBUILD_TESTING=OFF -DHDF5_ENABLE_DEPRECATED_SYMBOLS=ON \
    -DHDF5_EXTERNALLY_CONFIGURED=ON -DHDF5_ENABLE_Z_LIB_SUPPORT=OFF -DCMAKE_C_FLAGS="${flags[*]} -w -Wno-implicit-int" ${QEMU_LD_PREFIX:+-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-$arch-static}
  pc hdf5 1.10.8 "-lhdf5 -ldl -lm"
}
build_nlohmann-json3() { with_cmake nlohmann-json3 "$1" -DJSON_BuildTests=OFF -DBUILD_TESTING=OFF; }
build_cli11() { with_cmake cli11 "$1" -DCLI11_BUILD_{TESTS,EXAMPLES,DOCS}=OFF -DBUILD_TESTING=OFF; }
# Contains the parts for TLS with web servers and for signing. Loads no module, engine or configuration file at run
# time, because those of the system would be made for another OpenSSL.
build_openssl() {
  local out=$work/build/openssl
  rm -rf "$out" && mkdir "$out" && cd "$out"
  CC="${launcher:+$launcher }$compiler/cc" AR="$compiler/ar" RANLIB="$compiler/ranlib" perl "$1/Configure" "linux-$arch" \
    --prefix="$prefix" --libdir=lib --openssldir=/etc/ssl --with-rand-seed=os \
    no-{shared,module,filenames,dso,engine,legacy,tests,fuzz-libfuzzer,autoload-config,async,comp,ui-console,ssl-trace,sock} \
    no-{ssl3,tls1,tls1_1,dtls,nextprotoneg,psk,srp,srtp,ct,ocsp,ts,cmp,cms,rfc3779,gost} \
    no-{aria,bf,blake2,camellia,cast,des,dsa,ec2m,idea,md4,mdc2,rc2,rc4,rmd160,scrypt,seed,siv,sm2,sm3,sm4,whirlpool} \
    "${flags[@]/-O3/-O2}"
  make --jobs "$jobs" build_generated
  make --jobs "$jobs" libcrypto.a libssl.a
  rm -rf "$prefix/include/openssl" && mkdir -p "$prefix/include" "$prefix/lib"
  cp -r "$1/include/openssl" "$prefix/include"
  cp include/openssl/*.h "$prefix/include/openssl"
  cp libcrypto.a libssl.a "$prefix/lib"
  local version=${2%%-*}
  pc libcrypto "$version" "-lcrypto -lpthread"
  pc libssl "$version" -lssl libcrypto
}
build_expat() {  # without document types, which penstock refuses; with them Debian's patched source needs its configure
  with_cmake expat "$1/expat" -DEXPAT_BUILD_{DOCS,EXAMPLES,PKGCONFIG,TESTS,TOOLS}=OFF -DEXPAT_{SHARED_LIBS,DTD}=OFF
  pc expat 2.5.0 "-lexpat -lm"
}
# Only HTTP and HTTPS. Threads resolve names. There are no built-in certificates: penstock sets the system's.
build_curl() {
  with_cmake curl "$1" -DHTTP_ONLY=ON -DBUILD_CURL_EXE=OFF -DBUILD_TESTING=OFF -DPICKY_COMPILER=OFF -DENABLE_THREADED_RESOLVER=ON -DENABLE_MANUAL=OFF \
    -DCURL_USE_OPENSSL=ON -DOPENSSL_ROOT_DIR="$prefix" -DOPENSSL_USE_STATIC_LIBS=ON -DCURL_DISABLE_OPENSSL_AUTO_LOAD_CONFIG=ON \
    -DCURL_CA_{BUNDLE,PATH}=none -DCURL_{ZLIB,BROTLI,ZSTD,USE_LIBPSL,USE_LIBSSH2,USE_GSSAPI}=OFF -DUSE_{LIBIDN2,NGHTTP2}=OFF \
    -DENABLE_UNIX_SOCKETS=OFF -DCURL_DISABLE_{ALTSVC,COOKIES,CRYPTO_AUTH,DOH,GETOPTIONS,HSTS,MIME,NETRC,NTLM,PARSEDATE,PROGRESS_METER}=ON
  pc libcurl "${2%%-*}" "-lcurl -lpthread" libssl
}

mkdir -p "$prefix" "$work/build" "$work/built"
grep -hv '^#' "${pins[@]}" | while read -r package version sum; do
  account="$version $sum $(sha256sum <"$compiler/cc") $(declare -f "build_$package" pc archive with_cmake headers | sha256sum) ${flags[*]}"
  [ "$(cat "$work/built/$package" 2>/dev/null)" != "$account" ] || continue
  echo "wheel: building $package $version for $arch"
  set +e  # around the whole, as the shell takes no notice of a failure inside what is tested
  (set -e; "build_$package" "$sources/$package" "$version") >"$work/build/$package.log" 2>&1 </dev/null
  failed=$?
  set -e
  [ $failed -eq 0 ] ||
    { tail -n 40 "$work/build/$package.log" >&2; echo "wheel: $package was not built: $work/build/$package.log" >&2; exit 1; }
  echo "$account" >"$work/built/$package"
done
