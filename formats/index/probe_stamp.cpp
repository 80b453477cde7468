#include <algorithm>
#include <string>
#include <system_error>

#include <fcntl.h>

#include <penstock/base/error.hpp>
#include <penstock/formats/index/probe_stamp.hpp>
#include <penstock/formats/io/descriptor.hpp>
#include <penstock/formats/io/hash.hpp>

namespace penstock {

std::uint64_t probe_stamp(const std::filesystem::path& path) {
  constexpr std::uint64_t kProbe = 4096;
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) throw Error::io(error.value(), "cannot stat " + path.string());
  const Descriptor file = Descriptor::open(path, O_RDONLY);
  std::uint64_t hash = fnv1a(std::to_string(size));
  std::string probe(kProbe, '\0');
  for (const std::uint64_t offset : {std::uint64_t{0}, size / 2, size - std::min(size, kProbe)}) {
    const std::size_t got = read_at(file.get(), std::as_writable_bytes(std::span(probe)), offset, path);
    hash = fnv1a(std::string_view(probe).substr(0, got), hash);
  }
  return hash;
}

}  // namespace penstock
