#include <array>
#include <string_view>

#include <penstock/formats/places/store_destination.hpp>

namespace penstock {

std::optional<std::string> store_destination(const std::filesystem::path& destination) {
  constexpr std::array<std::string_view, 3> kWritten{"s3", "gs", "az"};
  const std::string& text = destination.native();
  for (const std::string_view scheme : kWritten) {
    if (!text.starts_with(scheme) || text.compare(scheme.size(), 2, ":/") != 0) continue;
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::symlink_status(*destination.begin(), ignored))) return std::nullopt;
    const std::size_t begin = text.find_first_not_of('/', scheme.size() + 1);
    if (begin == std::string::npos) return std::nullopt;
    std::string address = std::string(scheme) + "://" + text.substr(begin);
    while (address.back() == '/') address.pop_back();
    return address;
  }
  return std::nullopt;
}

}  // namespace penstock
