// What Transport consists of.
#pragma once

#include <remote/http/engine/loop.hpp>
#include <remote/http/engine/renewal.hpp>
#include <remote/http/engine/store_counters.hpp>
#include <remote/http/settings.hpp>
#include <remote/http/transport.hpp>

namespace penstock {

struct Transport::Core {
  Loop loop{remote_settings()};
  StoreCounters counters;
  Renewal renewal;  // ends first: it asks through the loop
};

}  // namespace penstock
