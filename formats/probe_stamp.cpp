#include <algorithm>
#include <string>
#include <system_error>

#include <fcntl.h>

#include <penstock/formats/descriptor.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/formats/probe_stamp.hpp>

namespace penstock {
namespace {

std::uint64_t fnv1a(std::string_view bytes, std::uint64_t hash) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  return hash;
}

}  // namespace

std::uint64_t probe_stamp(const std::filesystem::path& path) {
  constexpr std::uint64_t kProbe = 4096, kOffsetBasis = 0xCBF29CE484222325;
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) throw Error::io(error.value(), "cannot stat " + path.string());
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  std::uint64_t hash = fnv1a(std::to_string(size), kOffsetBasis);
  std::string probe(kProbe, '\0');
  for (const std::uint64_t offset : {std::uint64_t{0}, size / 2, size - std::min(size, kProbe)}) {
    const std::size_t got = read_at(file.get(), std::as_writable_bytes(std::span(probe)), offset, path);
    hash = fnv1a(std::string_view(probe).substr(0, got), hash);
  }
  return hash;
}

}  // namespace penstock
