// Packs samples that are not files: they come from any thread, in any order, and are packed in key order.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/pack/convert.hpp>

namespace penstock {

struct WriterOptions {
  ConvertOptions pack = {};               ///< how the dataset is packed; there is nothing to `resume`
  std::vector<std::string> classes = {};  ///< names of the class numbers in the samples' `cls`
  std::filesystem::path spool = {};       ///< folder where samples wait for finish(); empty: beside the dataset
};

/// One field of a sample: bytes, or a file that holds them.
struct WriterValue {
  std::string_view field;                 ///< name or extension, see field_from_extension()
  std::span<const std::byte> bytes = {};  ///< copied by add()
  std::filesystem::path file = {};        ///< not empty: the value is this file's content, read by finish()
};

/// Samples gather in an unnamed file, of which nothing stays however the program ends; finish() sorts them by key and
/// packs them as convert() does, so that the bytes of the dataset depend on the samples and the options alone. Until
/// then twice the space is in use. Memory: the key, 24 bytes per field and 13 to 19 bytes per sample, and as much again
/// for a moment while that grows or is finished; for files also their paths and 24 bytes each.
///
/// Any thread may call any function. A writer is of no use in a forked child, and says so.
class Writer {
 public:
  /// Throws Error: invalid_argument (unknown format, destination exists, resume); io.
  Writer(std::filesystem::path destination, WriterOptions options);
  /// Without finish() nothing is left.
  ~Writer();

  /// Throws Error: invalid_argument, naming key and field: a key that was added before, a field given twice, no field,
  /// a name the format cannot hold; corrupt, unsupported: a value that its field's codec will not read. These leave
  /// the writer as it was. After io (a full disk) every later call throws the same.
  void add(std::string_view key, std::span<const WriterValue> fields);
  std::uint64_t samples() const;
  std::uint64_t bytes() const;  ///< of all values

  /// Packs the dataset. `progress` is as for convert(); when it returns false, or anything throws, nothing is left.
  ConvertResult finish(const std::function<bool(const ConvertProgress&)>& progress = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace penstock
