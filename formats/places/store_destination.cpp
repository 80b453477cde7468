#include <algorithm>
#include <array>
#include <string_view>

#include <formats/places/address.hpp>
#include <formats/places/store_destination.hpp>

namespace penstock {
namespace {

// require_writable_place() handles web servers, and stores that need their own copy tools.
bool is_written(const std::filesystem::path& destination) {
  constexpr std::array<std::string_view, 7> kWritten{"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss"};
  const std::string scheme = scheme_of_place(destination);
  return std::ranges::find(kWritten, scheme) != kWritten.end();
}

}  // namespace

std::optional<std::string> store_destination(const std::filesystem::path& destination) {
  if (!is_written(destination)) return std::nullopt;
  const auto address = address_of(destination);
  return address ? std::optional(address->native()) : std::nullopt;
}

}  // namespace penstock
