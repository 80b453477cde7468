// The parts of a Dataset: its shards, and the samples that a view chooses of them.
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

/// One shard: its index, and the folder that the index's relative paths start from.
struct Dataset::Shard {
  Index index;
  std::filesystem::path root;
  std::string name;                            ///< for messages: path of the shard inside the dataset
  std::shared_ptr<const ShardPins> pins = {};  ///< what its files were when opened; null: nobody compares
  std::filesystem::path dataset = {};  ///< that it was opened with, where it is another one's that was made of several
  /// What the dataset calls each of the index's fields ("": it has no such field); none: as the index does.
  std::vector<std::string> fields = {};
  /// Of an index that is made of other shards (Index::of): how many of those in front of it. The files and blocks of
  /// its pieces are theirs, numbered as in a dataset of them alone.
  std::size_t borrowed = 0;
  /// The objects that are the index's files, in the state in which they were opened; empty: they are files on a disk.
  std::vector<std::shared_ptr<const StoredObject>> objects = {};
  std::shared_ptr<const OpenOptions> options = {};  ///< that it was opened with; null: the usual ones
  /// A copy of `index` with the dataset's class numbers (labels/shared_classes.hpp), or with longer keys
  /// (pack/key_order.hpp). `index` stays as the files have it, because it is compared with them.
  std::optional<Index> renamed = {};
  const Index& names() const { return renamed ? *renamed : index; }
  /// Set by Dataset if a field has another type in the dataset than in this shard (field_types.hpp): a copy of
  /// names() whose values have the dataset's types.
  std::optional<Index> typed = {};
  const Index& values() const { return typed ? *typed : names(); }
};

/// Some samples of the shards in some order, as a view has them. Numbers are those of all samples of all shards.
struct Dataset::Choice {
  SampleList samples;  ///< their keys are the view's
  /// Fields that come from other samples than these: lists as long as `samples`, and for each field 0, or 1 and the
  /// number of its list. None: all come from `samples`.
  std::vector<SampleList> joined = {};
  std::vector<std::uint32_t> list_of_field = {};
  std::string about = {};   ///< how they were chosen, in words: "only labels cat, dog"
  std::uint64_t among = 0;  ///< samples that they were chosen from

  /// That a field's samples come from: 0 for `samples`, else 1 and the number of a joined one.
  std::uint32_t list_of(std::uint32_t field) const { return field < list_of_field.size() ? list_of_field[field] : 0; }
  const SampleList& list(std::uint32_t number) const { return number == 0 ? samples : joined[number - 1]; }
};

}  // namespace penstock
