// The interface of whoever has idle threads to share one value's work with.
#pragma once

#include <cstdint>
#include <functional>

namespace penstock {

/// Runs the pieces of one value's work side by side where threads are idle. Whoever calls a codec may give it one.
class Parallel {
 public:
  /// Calls body(piece) once for each piece in [0, pieces): in the calling thread, and in others that are idle, in any
  /// order and several at a time. Returns once all have ended. Throws what a body threw first; pieces that had not
  /// begun are left out then. A body does not call run() itself.
  virtual void run(std::uint32_t pieces, const std::function<void(std::uint32_t piece)>& body) = 0;

 protected:
  ~Parallel() = default;
};

}  // namespace penstock
