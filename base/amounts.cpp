#include <cctype>
#include <charconv>
#include <string_view>

#include <base/amounts.hpp>
#include <penstock/error.hpp>

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

std::uint64_t parse_size(const std::string& text, const std::string& option) {
  const auto refuse = [&] {
    return Error::invalid_argument(option + " must be a size such as 4096, 256MiB or 1G, not '" + text + "'");
  };
  double number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc{} || !(number >= 0)) throw refuse();
  std::string unit(end, text.data() + text.size());
  for (char& letter : unit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  double factor = 1;
  if (!unit.empty() && unit != "B") {
    const std::size_t power = std::string_view("KMGT").find(unit.front());
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos || (rest != "" && rest != "IB" && rest != "B")) throw refuse();
    for (std::size_t i = 0; i <= power; ++i) factor *= rest == "B" ? 1000 : 1024;
  }
  const double bytes = number * factor;
  if (bytes >= 9.2e18) throw refuse();
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace penstock
