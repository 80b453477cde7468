// The predicted effect of other option values.
#pragma once

#include <string>

#include <penstock/options.hpp>

namespace penstock {

/// One changed option, or several, and the predicted rate.
struct Gain {
  std::string knob;       ///< "workers", "prefetch", "workers, prefetch", "engine", "cache", "batch_size", "pack"
  std::string value;      ///< "4", "4, 8", "io_uring", "encoded", "--max-side 448", as options are written
  LoaderOptions options;  ///< with the change
  double samples_per_s = 0;
  double ratio = 1;   ///< predicted rate divided by the measured one
  std::string limit;  ///< Outlook::limit with the change
  std::string text;   ///< "workers=4: +29 %, limited then by storage bandwidth at 1.10 GB/s"
};

}  // namespace penstock
