#include <algorithm>
#include <span>
#include <string>

#include <penstock/formats/index/probe_stamp.hpp>
#include <penstock/formats/io/hash.hpp>
#include <penstock/formats/places/places.hpp>

namespace penstock {

std::uint64_t probe_stamp(const std::filesystem::path& path) {
  constexpr std::uint64_t kProbe = 4096;
  const auto source = open_byte_source(path);
  const std::uint64_t size = source->size();
  std::uint64_t hash = fnv1a(std::to_string(size));
  std::string probe(kProbe, '\0');
  for (const std::uint64_t offset : {std::uint64_t{0}, size / 2, size - std::min(size, kProbe)}) {
    const std::size_t got = source->read(offset, std::as_writable_bytes(std::span(probe)));
    hash = fnv1a(std::string_view(probe).substr(0, got), hash);
  }
  return hash;
}

}  // namespace penstock
