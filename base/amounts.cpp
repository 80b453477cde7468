#include <base/amounts.hpp>

namespace penstock {

std::string percent_text(double share) {
  return text_of("%.0f %%", 100 * share);
}

std::string time_text(double seconds) {
  if (seconds < 1e-5) return text_of("%.2g us", seconds * 1e6);
  if (seconds < 1e-3) return text_of("%.0f us", seconds * 1e6);
  return seconds < 1 ? text_of("%.1f ms", seconds * 1e3) : text_of("%.2f s", seconds);
}

std::string decimal_bytes_text(double bytes) {
  if (bytes < 1e6) return text_of("%.1f kB", bytes / 1e3);
  return bytes < 1e9 ? text_of("%.1f MB", bytes / 1e6) : text_of("%.2f GB", bytes / 1e9);
}

}  // namespace penstock
