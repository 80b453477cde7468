#include <algorithm>
#include <string>

#include <formats/index/probe_stamp.hpp>
#include <formats/io/hash.hpp>
#include <formats/places/places.hpp>

namespace penstock {

std::uint64_t probe_stamp(const std::filesystem::path& path) {
  const auto source = open_byte_source(path);
  return probe_stamp(source->size(),
                     [&](std::uint64_t offset, std::span<std::byte> into) { return source->read(offset, into); });
}

std::uint64_t probe_stamp(std::uint64_t size,
                          const std::function<std::size_t(std::uint64_t offset, std::span<std::byte> into)>& read) {
  std::uint64_t hash = fnv1a(std::to_string(size));
  std::string probe(kProbedBytes, '\0');
  for (const std::uint64_t offset : {std::uint64_t{0}, size / 2, size - std::min(size, kProbedBytes)}) {
    const std::size_t got = read(offset, std::as_writable_bytes(std::span(probe)));
    hash = fnv1a(std::string_view(probe).substr(0, got), hash);
  }
  return hash;
}

}  // namespace penstock
