// The folder of a ledger: a file for each loader that ever delivered into it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <formats/io/descriptor.hpp>
#include <record/ledger/header.hpp>

namespace penstock {

class LedgerFolder {
 public:
  /// Makes it where there is none. Throws Error: io.
  static LedgerFolder made(const std::filesystem::path& path);
  /// Throws Error: io, where it is not there.
  static LedgerFolder opened(const std::filesystem::path& path);

  const Descriptor& descriptor() const { return folder_; }
  const std::filesystem::path& path() const { return path_; }  ///< as it was given
  /// Of the files of loaders, in the order in which these were made. Throws Error: io.
  std::vector<std::string> names() const;
  /// Links are not followed. Throws Error: io.
  Descriptor open(const std::string& name) const;
  /// Nothing where the file is gone, or its header cannot be read.
  std::optional<ReadLedgerHeader> header(const std::string& name) const;
  /// What the file delivered, and it has not ended.
  bool delivers(const std::string& name, std::uint64_t header_bytes) const;

 private:
  LedgerFolder(Descriptor folder, const std::filesystem::path& path);

  Descriptor folder_;
  std::filesystem::path path_, whole_path_;
};

/// "00001795445275123456789-3-of-8-4711.ledger": when it was begun, rank, world, process, and a number where there were
/// several at that moment. Names sort as files were begun.
std::string ledger_name(const LedgerHeader& header);
/// When the file of that name was begun; 0: it is no such name.
std::uint64_t ledger_begun(const std::string& name);

}  // namespace penstock
