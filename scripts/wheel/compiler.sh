#!/usr/bin/env bash
# Usage: scripts/wheel/compiler.sh ARCH FOLDER ZIG
# Writes compilers for glibc 2.28 on ARCH (x86_64, aarch64) into FOLDER: cc, c++, ar and ranlib. They call zig's
# compiler, with its libc++ linked statically. Also writes toolchain.cmake, which makes CMake use them. The
# libgcc_s.so.1 of the system unwinds exceptions, because glibc itself loads it to end a thread. A thread that ends
# inside a C++ function is only safe if both use the same unwinder.
set -euo pipefail
arch=$1
mkdir -p "$2"
folder=$(realpath "$2")
zig=$3
write() { # NAME TEXT: an existing file of the same text keeps its time, by which ccache knows a compiler
  [ "$(cat "$folder/$1" 2>/dev/null)" = "$2" ] || printf '%s\n' "$2" >"$folder/$1"
  chmod +x "$folder/$1"
}
# zig checks for undefined behaviour by default. It also disables single features that the oldest processor lacks. A
# function for a newer processor, target("sse4.2") or target("avx512f"), would then have to name the features that these
# imply.
processor=
[ "$arch" != x86_64 ] || processor=-mcpu=baseline+crc32+evex512
write cc "#!/bin/sh
exec '$zig' cc -target $arch-linux-gnu.2.28 -fno-sanitize=undefined \"\$@\""
write c++ "#!/bin/sh
exec '$zig' c++ -target $arch-linux-gnu.2.28 $processor -fno-sanitize=undefined \"\$@\""
# A stub of that library for linking, with the versions of its functions.
cat >"$folder/unwinder.map" <<'END'
GCC_3.0 {
  global: _Unwind_RaiseException; _Unwind_ForcedUnwind; _Unwind_DeleteException; _Unwind_Resume; _Unwind_GetGR; _Unwind_SetGR;
    _Unwind_GetIP; _Unwind_SetIP; _Unwind_GetLanguageSpecificData; _Unwind_GetRegionStart;
  local: *;
};
GCC_3.3 { global: _Unwind_Backtrace; _Unwind_FindEnclosingFunction; _Unwind_GetCFA; _Unwind_Resume_or_Rethrow; } GCC_3.0;
GCC_4.2.0 { global: _Unwind_GetIPInfo; } GCC_3.3;
END
grep -o '_Unwind_[A-Za-z_]*' "$folder/unwinder.map" | sed 's/.*/void &(void) {}/' >"$folder/unwinder.c"
"$folder/cc" -shared -fPIC -nostdlib -w -Wl,-soname,libgcc_s.so.1 -Wl,--version-script="$folder/unwinder.map" \
  "$folder/unwinder.c" -o "$folder/libgcc_s.so"
for tool in ar ranlib; do
  write "$tool" "#!/bin/sh
exec '$zig' $tool \"\$@\""
done
write toolchain.cmake "set(CMAKE_C_COMPILER $folder/cc)
set(CMAKE_CXX_COMPILER $folder/c++)
set(CMAKE_ASM_COMPILER $folder/cc)
set(CMAKE_AR $folder/ar CACHE FILEPATH \"\")
set(CMAKE_RANLIB $folder/ranlib CACHE FILEPATH \"\")
$([ "$arch" = "$(uname -m)" ] || printf '%s\n' 'set(CMAKE_SYSTEM_NAME Linux)' "set(CMAKE_SYSTEM_PROCESSOR $arch)")
set(CMAKE_EXE_LINKER_FLAGS_INIT $folder/libgcc_s.so)
set(CMAKE_SHARED_LINKER_FLAGS_INIT $folder/libgcc_s.so)
set(CMAKE_MODULE_LINKER_FLAGS_INIT $folder/libgcc_s.so)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)"
