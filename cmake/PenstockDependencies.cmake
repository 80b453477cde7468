# Finds every third-party library, once. Each stays behind one door: only the layer that names it may include it.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(TBB REQUIRED)
find_package(nlohmann_json 3.10 REQUIRED)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(SPNG REQUIRED IMPORTED_TARGET spng)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(HIGHWAY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(LMDB REQUIRED IMPORTED_TARGET lmdb)
pkg_check_modules(HDF5 REQUIRED IMPORTED_TARGET hdf5)

# All of them or none: object stores and web servers.
pkg_check_modules(CURL IMPORTED_TARGET libcurl>=7.84)
pkg_check_modules(OPENSSL IMPORTED_TARGET libcrypto>=1.1.1)
pkg_check_modules(EXPAT IMPORTED_TARGET expat>=2.4)
set(PENSTOCK_WITH_REMOTE OFF)
if(CURL_FOUND AND OPENSSL_FOUND AND EXPAT_FOUND)
  set(PENSTOCK_WITH_REMOTE ON)
  message(STATUS "penstock: object stores on (libcurl ${CURL_VERSION}, libcrypto ${OPENSSL_VERSION}, expat ${EXPAT_VERSION})")
else()
  message(STATUS "penstock: object stores left out: libcurl (7.84 or newer), libcrypto or expat (2.4 or newer) not found")
endif()

# What penstock does without where it is missing, the decompressors for what foreign datasets may hold among it: one
# line each says what is there.
foreach(library IN ITEMS "URING:liburing:io_uring engine" "WEBP:libwebp:WebP images" "BLOSC:blosc:blosc blocks"
    "LZ4:liblz4:lz4 blocks" "ZSTD:libzstd:zstd blocks")
  string(REGEX MATCH "(.+):(.+):(.+)" _ ${library})
  set(name ${CMAKE_MATCH_1})
  set(module ${CMAKE_MATCH_2})
  set(what ${CMAKE_MATCH_3})
  pkg_check_modules(${name} IMPORTED_TARGET ${module})
  if(${name}_FOUND)
    message(STATUS "penstock: ${what} on (${module} ${${name}_VERSION})")
  else()
    message(STATUS "penstock: ${what} left out: ${module} not found")
  endif()
endforeach()

# The same for bzip2, which has no pkg-config module on Debian.
find_package(BZip2 QUIET)
if(TARGET BZip2::BZip2)
  message(STATUS "penstock: bzip2 blocks on (libbz2 ${BZIP2_VERSION_STRING})")
else()
  message(STATUS "penstock: bzip2 blocks left out: libbz2 not found")
endif()
