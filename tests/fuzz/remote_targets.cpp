#include <array>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

std::span<const Target> remote_targets() {
  static constexpr std::array kTargets{
      Target{"header_values", header_values},
      Target{"keys", keys},
      Target{"listing", listing},
      Target{"profile", profile},
      Target{"redirect", redirect_target},
      Target{"store_answer", store_answer},
      Target{"xml", xml},
  };
  return kTargets;
}

}  // namespace penstock::fuzz
