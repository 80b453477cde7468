#include <algorithm>
#include <string>

#include <formats/index/layout.hpp>
#include <formats/index/row_limit.hpp>
#include <penstock/error.hpp>

namespace penstock {

void require_row_limit(std::uint64_t rows, std::uint64_t fields, std::uint64_t file_bytes) {
  constexpr std::uint64_t kFree = std::uint64_t{4} << 30, kMostRows = std::uint64_t{1} << 48, kMega = 1'000'000;
  constexpr std::uint64_t kOffset = 8;
  const std::uint64_t key = kOffset + std::to_string(rows).size();
  const std::uint64_t row = key + fields * sizeof(index_layout::Entry);
  const std::uint64_t bytes = std::min(rows, kMostRows) * row;
  if (bytes <= std::max(kFree, file_bytes)) return;
  throw Error::unsupported(std::to_string(rows) + " rows would need an index of " + std::to_string(bytes / kMega) +
                           " MB for a file of " + std::to_string(file_bytes / kMega) +
                           " MB; if single values are not samples, reshape the array to fewer, longer rows");
}

}  // namespace penstock
