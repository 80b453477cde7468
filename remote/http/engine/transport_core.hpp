// What Transport consists of.
#pragma once

#include <penstock/remote/http/engine/loop.hpp>
#include <penstock/remote/http/engine/renewal.hpp>
#include <penstock/remote/http/engine/store_counters.hpp>
#include <penstock/remote/http/settings.hpp>
#include <penstock/remote/http/transport.hpp>

namespace penstock {

struct Transport::Core {
  Loop loop{remote_settings()};
  StoreCounters counters;
  Renewal renewal;  // ends first: it asks through the loop
};

}  // namespace penstock
