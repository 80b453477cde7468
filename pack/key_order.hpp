// Puts the samples of a dataset in the order in which they are packed, and gives them keys that differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// Numbers of the samples in bytewise order of their keys. Samples of one key keep their order.
std::vector<std::uint64_t> samples_by_key(const Dataset& dataset);

/// The samples of a dataset in that order, with keys that differ.
struct KeyOrder {
  Dataset dataset;                     ///< the one that was given, or the same samples with longer keys
  std::vector<std::uint64_t> samples;  ///< numbers in `dataset`
  std::string example = {};            ///< "0001 of s-0.tar is s-0/0001"; empty if the keys are those that were given
};

/// Shards often number their samples from zero each. If two shards share a key, every key gets the name of its shard in
/// front: "s-0/0001". That name is the part of the shard's path that differs between shards, without extension.
/// Throws Error: invalid_argument, naming both shards, if these keys do not differ either; corrupt, naming the shard,
/// if one shard has a key twice.
KeyOrder key_order(const Dataset& dataset);

}  // namespace penstock
