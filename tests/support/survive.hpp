// Reads broken files: indexing and reading must end in values or in an Error.
#pragma once

#include <filesystem>
#include <functional>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include <formats/format.hpp>
#include <penstock/error.hpp>

#include "support/field_bytes.hpp"
#include "support/temporary_folder.hpp"

namespace penstock::test {

/// Indexes the file and reads every field. True when all of that went well; an Error must be a data fault, and anything
/// else (an extent outside the file, an exception of the standard library) fails the test.
inline bool reads_or_refuses(const Format& format, const std::filesystem::path& shard,
                             const std::filesystem::path& root) {
  try {
    all_fields(format.index(shard, root, {}), root);
    return true;
  } catch (const Error& error) {
    CHECK_MESSAGE((error.is_data_fault() || error.kind() == ErrorKind::invalid_argument), error.what());
    CHECK_MESSAGE(error.cause().find('\n') == std::string::npos, error.what());
  } catch (const std::exception& other) {
    FAIL_CHECK("not an Error: " << other.what());
  }
  return false;
}

/// Cuts the file of these bytes at every length.
inline void survive_cuts(const Format& format, const std::filesystem::path& file, const std::string& bytes,
                         const std::filesystem::path& shard, const std::filesystem::path& root) {
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    write_file(file, bytes.substr(0, length));
    reads_or_refuses(format, shard, root);
  }
  write_file(file, bytes);
}

/// Flips one to three bits, or sets a byte to 0 or 255, `rounds` times.
inline void survive_flips(const Format& format, const std::filesystem::path& file, const std::string& bytes,
                          const std::filesystem::path& shard, const std::filesystem::path& root, int rounds) {
  std::mt19937 random(20240611);
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    std::string changed = bytes;
    for (int i = 0; i <= round % 3; ++i) {
      char& byte = changed[random() % changed.size()];
      switch (round % 4) {
        case 0:
          byte = '\xFF';
          break;
        case 1:
          byte = '\0';
          break;
        default:
          byte = static_cast<char>(byte ^ (1 << random() % 8));
      }
    }
    write_file(file, changed);
    reads_or_refuses(format, shard, root);
  }
  write_file(file, bytes);
}

}  // namespace penstock::test
