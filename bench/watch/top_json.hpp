// The content of `penstock top` as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <bench/watch/top.hpp>

namespace penstock {

/// "node", "gpus", "loaders", "trainings" and "left_out". The loaders are in the order of uses_between().
nlohmann::ordered_json top_object(const Look& before, const Look& after);

}  // namespace penstock
