// Bytes of an index that were changed on purpose, with checksums that agree with them: what a hostile file is like.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include <formats/index/layout.hpp>
#include <formats/io/crc32c.hpp>

namespace penstock::test {

inline std::span<std::byte> section(std::vector<std::byte>& index, index_layout::SectionId id) {
  index_layout::SectionEntry entry{};
  std::memcpy(&entry, index.data() + sizeof(index_layout::Header) + static_cast<std::size_t>(id) * sizeof(entry),
              sizeof(entry));
  return std::span(index).subspan(entry.offset, entry.length);
}

template <typename Record>
Record record(std::span<const std::byte> section, std::size_t number) {
  Record value;
  std::memcpy(&value, section.data() + number * sizeof(Record), sizeof(Record));
  return value;
}

template <typename Record, typename Change>
void change(std::span<std::byte> section, std::size_t number, const Change& change) {
  Record value = record<Record>(section, number);
  change(value);
  std::memcpy(section.data() + number * sizeof(Record), &value, sizeof(Record));
}

inline std::vector<std::byte> resigned(std::vector<std::byte> index) {
  using namespace index_layout;
  const std::size_t sections = record<Header>(index, 0).section_count;
  const std::size_t body = sizeof(Header) + sections * sizeof(SectionEntry);
  change<Header>(index, 0, [&](Header& header) { header.body_crc = crc32c(std::span(index).subspan(body)); });
  const std::span<const std::byte> head = std::span(index).first(body);
  change<Header>(index, 0, [&](Header& header) {
    header.header_crc = crc32c(head.subspan(sizeof(Header)), crc32c(head.first(offsetof(Header, header_crc))));
  });
  return index;
}

}  // namespace penstock::test
