#include "campaign/mutation.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <formats/index/layout.hpp>
#include <formats/io/crc32c.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::campaign {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.file_size() > 0) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::uint64_t interesting_number(Draws& draws) {
  static constexpr std::array<std::uint64_t, 12> kNumbers{
      0,          1,          0x7F,       0xFFFF,     0x7FFFFFFF,         0x80000000,
      0xFFFFFFFF, 1ULL << 32, 1ULL << 40, 1ULL << 62, 0x7FFFFFFFFFFFFFFF, ~0ULL};
  return kNumbers.at(below(draws, kNumbers.size())) + below(draws, 3) - 1;
}

template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, std::min(sizeof(T), bytes.size() - at));
}

// Makes the checksums of an index that begins at `begin` right again. False where there is none that can be.
bool forge(std::string& bytes, std::size_t begin) {
  using namespace index_layout;
  if (bytes.size() < begin + sizeof(Header)) return false;
  Header header{};
  std::memcpy(&header, bytes.data() + begin, sizeof(header));
  const std::size_t body = sizeof(Header) + std::size_t{header.section_count} * sizeof(SectionEntry);
  if (header.magic != kMagic || header.section_count > 64 || bytes.size() < begin + body) return false;
  const auto all = std::as_bytes(std::span(bytes)).subspan(begin);
  header.body_crc = crc32c(all.subspan(body));
  header.header_crc = 0;
  std::string head(reinterpret_cast<const char*>(&header), offsetof(Header, header_crc));
  head.append(bytes, begin + sizeof(Header), body - sizeof(Header));
  header.header_crc = crc32c(std::as_bytes(std::span(head)));
  std::memcpy(bytes.data() + begin, &header, sizeof(header));
  return true;
}

std::string change(std::string& bytes, Draws& draws) {
  const std::size_t at = below(draws, bytes.size());
  const std::string where = " at " + std::to_string(at);
  switch (below(draws, 10)) {
    case 0: {
      const std::size_t aligned = at / 8 * 8;
      put(bytes, aligned, interesting_number(draws));
      return "a number" + where;
    }
    case 1:
      put(bytes, at / 4 * 4, static_cast<std::uint32_t>(interesting_number(draws)));
      return "a number of 32 bits" + where;
    case 2:
      bytes.resize(at);
      return "cut" + where;
    case 3:
      bytes.append(1 + below(draws, 5000), static_cast<char>(draws()));
      return "bytes behind it";
    case 4: {
      const std::size_t length = std::min<std::size_t>(1 + below(draws, 700), bytes.size() - at);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), length, one_in(draws, 2) ? '\0' : '\xFF');
      return "a range filled" + where;
    }
    case 5: {
      const std::size_t length = std::min<std::size_t>(1 + below(draws, 2000), bytes.size() - at);
      const std::size_t to = below(draws, bytes.size() - length + 1);
      std::memmove(bytes.data() + to, bytes.data() + at, length);
      return "a range moved" + where + " to " + std::to_string(to);
    }
    default: {
      const std::uint64_t flips = 1 + below(draws, 3);
      for (std::uint64_t i = 0; i < flips; ++i) {
        char& byte = bytes[i == 0 ? at : below(draws, bytes.size())];
        byte = static_cast<char>(byte ^ (1 << below(draws, 8)));
      }
      return std::to_string(flips) + " bits" + where;
    }
  }
}

// As editors, `cp` and `rsync` write: over the old bytes, or beside them and renamed.
std::string write_back(const fs::path& file, const std::string& bytes, Draws& draws) {
  if (one_in(draws, 2)) {
    const fs::path beside = file.string() + ".campaign";
    test::write_file(beside, bytes);
    fs::rename(beside, file);
    return ", renamed";
  }
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return ", not to be opened";
  bool good = !one_in(draws, 2) || ::ftruncate(descriptor, 0) == 0;  // as `cp` does, or not
  good = good && ::pwrite(descriptor, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  good = good && ::ftruncate(descriptor, static_cast<off_t>(bytes.size())) == 0;
  ::close(descriptor);
  return good ? ", in place" : ", in place as far as it went";
}

}  // namespace

std::string mutate(const fs::path& folder, Draws& draws, bool& forged) {
  const std::vector<fs::path> files = files_below(folder);
  if (files.empty()) return "nothing to change";
  const fs::path& file = files[below(draws, files.size())];
  const std::string name = file.lexically_relative(folder).string();
  if (one_in(draws, 25)) {
    fs::remove(file);
    return name + " removed";
  }
  if (one_in(draws, 25)) {
    const fs::path& other = files[below(draws, files.size())];
    if (other != file) {
      const std::string bytes = test::read_file(other);
      return name + " has the bytes of " + other.lexically_relative(folder).string() + write_back(file, bytes, draws);
    }
  }
  std::string bytes = test::read_file(file);
  std::string told = name + ": " + change(bytes, draws);
  const bool index = name.ends_with(".idx");
  const bool sidecar = name.ends_with("penstock-idx");
  if ((index || sidecar) && one_in(draws, 2) && forge(bytes, sidecar ? 64 : 0)) {
    forged = true;
    told += ", checksums right";
  }
  return told + write_back(file, bytes, draws);
}

}  // namespace penstock::campaign
