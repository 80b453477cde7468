// What another value of an option would gain.
#pragma once

#include <string>

#include <penstock/options.hpp>

namespace penstock {

/// One knob, or several, turned.
struct Gain {
  std::string knob;       ///< "workers", "prefetch", "workers, prefetch", "engine", "cache", "batch_size", "pack"
  std::string value;      ///< "4", "4, 8", "io_uring", "encoded", "--max-side 448", as options are written
  LoaderOptions options;  ///< with it
  double samples_per_s = 0;
  double ratio = 1;   ///< beside the rate that was measured
  std::string limit;  ///< Outlook::limit with it
  std::string text;   ///< "workers=4: +29 %, limited then by storage bandwidth at 1.10 GB/s"
};

}  // namespace penstock
