// Describes the rows that a client wants from a server: the recipe, once, and the samples of each batch. Both are data,
// so no code crosses the network.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <loader/fetch/asked_rows.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>

namespace penstock::asking {

/// Identifies the content of a dataset on another machine, under any path and in any format.
struct Content {
  std::uint64_t keys = 0;       ///< Dataset::fingerprint()
  std::uint64_t lengths = 0;    ///< hash of the classes, and of the lengths of up to 4,096 samples' values
  std::uint64_t checksums = 0;  ///< hash of these values' checksums; 0 if the index lacks one

  static Content of(const Dataset& dataset);
  bool same(const Content& other) const {
    return keys == other.keys && lengths == other.lengths &&
           (checksums == 0 || other.checksums == 0 || checksums == other.checksums);
  }
};

/// Everything that the bytes of a row depend on, besides the row itself.
struct Recipe {
  Content dataset = {};
  std::string version = {};  ///< of program and mixes; a server that makes other rows refuses
  std::uint32_t batch_size = 0;
  std::uint64_t max_items = 0;
  Checksums checksums = Checksums::first;
  std::vector<FieldChain> transforms = {};
  std::vector<Mix> mix = {};
  MissingRows missing = Missing::raise;
  std::vector<MissingRowsOf> missing_by_output = {};
  std::vector<std::string> unreadable = {};

  /// `chains`: those of the workers; a device may run later steps. Throws Error: invalid_argument, for options that
  /// have functions of the program, or that need other samples than those of the row. The message names the option.
  static Recipe of(const Dataset& dataset, const LoaderOptions& options, std::vector<FieldChain> chains,
                   std::string version);
  std::string text() const;
  /// Throws Error: corrupt, or invalid_argument for chains that it does not know.
  static Recipe parse(std::string_view text);
  /// The options of the server's loader. Its invalid samples fail their batch, which the client then fills itself.
  LoaderOptions options() const;
};

/// The rows of one batch.
struct Ask {
  std::uint64_t number = 0;  ///< of the ask, on its connection
  NamedRows rows;
};
void write(sharing::WireWriter& to, const Ask& ask);
/// Throws Error: corrupt, if there are more rows than `batch_size`, or samples that the dataset lacks.
Ask read_ask(sharing::WireReader& from, std::uint32_t batch_size, std::uint64_t samples);

/// The beginning of a message with a batch. The note of the batch follows (sharing/notes.hpp), then the values of its
/// fields, one after the other.
struct ValuesHead {
  std::uint64_t number = 0;  ///< of the ask
  std::uint32_t crc32c = 0;  ///< of the note and all values
};
void write(sharing::WireWriter& to, const ValuesHead& head);
ValuesHead read_values_head(sharing::WireReader& from);
inline constexpr std::size_t kValuesHead = 16;  ///< bytes

inline constexpr std::string_view kLater = "later: ";  ///< begins the reason of a refusal that may pass

}  // namespace penstock::asking
