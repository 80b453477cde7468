// The only function of libpenstock_remote.so.
#pragma once

#include <formats/places/object_store.hpp>

namespace penstock {

inline constexpr const char* kRemoteLibrary = "libpenstock_remote.so";
/// The name contains the version, so that a library of another version is not loaded.
inline constexpr const char* kRemoteEntry = "penstock_remote_0_1_0";

/// Creates the process's store, which lives until the process ends.
using RemoteEntry = ObjectStore* (*)();

}  // namespace penstock

extern "C" penstock::ObjectStore* penstock_remote_0_1_0();
