// The folder of a ledger. It has a file for each loader that ever delivered into it.
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
  /// Makes the folder if there is none. Throws Error: io.
  static LedgerFolder made(const std::filesystem::path& path);
  /// Throws Error: io, if the folder does not exist.
  static LedgerFolder opened(const std::filesystem::path& path);

  const Descriptor& descriptor() const { return folder_; }
  const std::filesystem::path& path() const { return path_; }  ///< as given by the caller
  /// Returns the names of the loaders' files, in the order in which they were made. Throws Error: io.
  std::vector<std::string> names() const;
  /// Opens a file without following links. Throws Error: io.
  Descriptor open(const std::string& name) const;
  /// Returns nothing if the file is gone or its header cannot be read.
  std::optional<ReadLedgerHeader> header(const std::string& name) const;
  /// Returns true if the file has records and its loader has not ended.
  bool delivers(const std::string& name, std::uint64_t header_bytes) const;

 private:
  LedgerFolder(Descriptor folder, const std::filesystem::path& path);

  Descriptor folder_;
  std::filesystem::path path_, whole_path_;
};

/// Returns "00001795445275123456789-3-of-8-4711.ledger": start time, rank, world, process. If there were several at
/// that time, a number follows. The order of names is the order of start times.
std::string ledger_name(const LedgerHeader& header);
/// Returns the start time in that name, or 0 if it is not a ledger's file name.
std::uint64_t ledger_begun(const std::string& name);

}  // namespace penstock
