// What a test and its stand-in for nvJPEG share: what it answers, and what there is of it. The program exports its own,
// which the library then takes.
#pragma once

#include <atomic>

namespace penstock::test {

struct FakeNvJpeg {
  std::atomic<bool> hardware{true};  ///< whether there is an engine for JPEGs
  /// Statuses of the calls that make these, or decode a batch; 0: success.
  std::atomic<int> refuse_handle{0}, refuse_state{0}, refuse_stream{0}, refuse_begin{0}, refuse_batch{0};
  std::atomic<int> microseconds{0};                    ///< that an image takes
  std::atomic<int> handles{0}, states{0}, streams{0};  ///< alive
  std::atomic<int> images{0};                          ///< decoded
};

inline FakeNvJpeg fake_nvjpeg;

}  // namespace penstock::test
