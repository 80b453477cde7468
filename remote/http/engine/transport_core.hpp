// The parts of a Transport.
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
  Renewal renewal;  // destroyed first: it sends requests through the loop
};

}  // namespace penstock
