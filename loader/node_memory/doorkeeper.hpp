// A member's thread that sends the memory's descriptor to newcomers.
#pragma once

#include <base/thread.hpp>
#include <base/unforked.hpp>

namespace penstock {

/// Answers at a place of a Meeting until it is destroyed.
class Doorkeeper {
 public:
  Doorkeeper() = default;
  /// `handed_on` must outlive this object. Throws Error: resource.
  Doorkeeper(UnforkedDescriptor place, int handed_on);

 private:
  Thread thread_;
};

}  // namespace penstock
