#include <cstring>
#include <vector>

#include <formats/dataset.hpp>
#include <formats/index/index.hpp>
#include <formats/index/layout.hpp>
#include <formats/io/crc32c.hpp>
#include <penstock/error.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

namespace layout = index_layout;

void read_index(std::vector<std::byte> bytes) {
  Index index = Index::from_bytes(std::move(bytes));
  index.find("a");
  index.attributes();
  if (!names_files_here(index)) return;
  std::vector<Dataset::Shard> shards;
  shards.push_back({.index = std::move(index), .root = folder(), .name = "shard"});
  const Dataset dataset(folder(), "tar", std::move(shards), {}, true);
  dataset.find("a");
  read_dataset(dataset);
}

}  // namespace

std::vector<std::byte> repaired_index(Input input) {
  std::vector<std::byte> bytes(input.begin(), input.end());
  if (bytes.size() < sizeof(layout::Header)) return bytes;
  layout::Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  const std::size_t table = layout::sections_of(header.version) * sizeof(layout::SectionEntry);
  if (bytes.size() < sizeof(layout::Header) + table) return bytes;
  const std::uint64_t length = bytes.size();
  std::memcpy(bytes.data() + offsetof(layout::Header, total_length), &length, sizeof(length));
  const Input whole(bytes);
  const std::uint32_t head = crc32c(whole.first(offsetof(layout::Header, header_crc)));
  const std::uint32_t crc = crc32c(whole.subspan(sizeof(layout::Header), table), head);
  std::memcpy(bytes.data() + offsetof(layout::Header, header_crc), &crc, sizeof(crc));
  return bytes;
}

bool names_files_here(const Index& index) {
  for (std::uint32_t i = 0; i < index.file_count(); ++i) {
    const std::string path = index.file(i).path;
    if (path.find('/') != std::string::npos || path.find('\0') != std::string::npos) return false;
  }
  return true;
}

// Extents of any file reach into the index's own bytes.
void idx(Input input) {
  as_file(input, "shard-000000.tar");
  try {
    read_index({input.begin(), input.end()});
  } catch (const Error&) {
  }
  read_index(repaired_index(input));
}

}  // namespace penstock::fuzz
