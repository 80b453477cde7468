// The one function of libpenstock_remote.so.
#pragma once

#include <formats/places/object_store.hpp>

namespace penstock {

inline constexpr const char* kRemoteLibrary = "libpenstock_remote.so";
inline constexpr const char* kRemoteEntry = "penstock_remote_0_1_0";  ///< another penstock's has another name

/// Makes the process's store. It lives until the process ends.
using RemoteEntry = ObjectStore* (*)();

}  // namespace penstock

extern "C" penstock::ObjectStore* penstock_remote_0_1_0();
