// The parts of a Dataset: its shards, and the samples that a view chooses from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/lists/sample_list.hpp>
#include <penstock/dataset.hpp>

namespace penstock {

class ShardPins;
struct OpenOptions;
struct StoredObject;

/// One shard: its index, and the folder to which the paths of the index are relative.
struct Dataset::Shard {
  Index index;
  std::filesystem::path root;
  std::string name;                            ///< for messages: path of the shard inside the dataset
  std::shared_ptr<const ShardPins> pins = {};  ///< identities of its files when opened; null: no comparison
  std::filesystem::path dataset = {};          ///< path of its own dataset, if this dataset combines several
  /// The dataset's name for each field of the index ("": the dataset does not have this field). Empty: the names of the
  /// index.
  std::vector<std::string> fields = {};
  /// If the index is composed of other shards (Index::of): the number of preceding shards that it refers to. Its pieces
  /// use the files and blocks of those shards, numbered as in a dataset of only those shards.
  std::size_t borrowed = 0;
  /// The objects that are the index's files, each with the version that was opened. Empty if the files are on a disk.
  std::vector<std::shared_ptr<const StoredObject>> objects = {};
  std::shared_ptr<const OpenOptions> options = {};  ///< that it was opened with; null: the defaults
  /// A copy of `index` with the dataset's class numbers (labels/shared_classes.hpp), or with longer keys
  /// (pack/key_order.hpp). `index` stays as the files have it, because it is compared with them.
  std::optional<Index> renamed = {};
  const Index& names() const { return renamed ? *renamed : index; }
  /// Set by Dataset if a field has another type in the dataset than in this shard (field_types.hpp): a copy of
  /// names() whose values have the dataset's types.
  std::optional<Index> typed = {};
  const Index& values() const { return typed ? *typed : names(); }
};

/// Some samples of the shards in some order, as chosen by a view. The numbers count all samples of all shards.
struct Dataset::Choice {
  SampleList samples;  ///< the view has the keys of these samples
  /// Fields that come from other samples: lists as long as `samples`, and for each field either 0, or 1 plus the number
  /// of its list. Empty: all fields come from `samples`.
  std::vector<SampleList> joined = {};
  std::vector<std::uint32_t> list_of_field = {};
  std::string about = {};   ///< description of the choice: "only labels cat, dog"
  std::uint64_t among = 0;  ///< number of samples before the choice

  /// The number of the list that a field's samples come from: 0 for `samples`, else 1 plus the number of a joined list.
  std::uint32_t list_of(std::uint32_t field) const { return field < list_of_field.size() ? list_of_field[field] : 0; }
  const SampleList& list(std::uint32_t number) const { return number == 0 ? samples : joined[number - 1]; }
};

}  // namespace penstock
