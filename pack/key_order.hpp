// Sorts the samples of a dataset into packing order and makes their keys unique.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>

namespace penstock {

/// Returns sample numbers in bytewise order of keys. Samples with equal keys keep their order.
std::vector<std::uint64_t> samples_by_key(const Dataset& dataset);

/// The samples of a dataset in packing order, with unique keys.
struct KeyOrder {
  Dataset dataset;                     ///< the given dataset, or the same samples with longer keys
  std::vector<std::uint64_t> samples;  ///< numbers in `dataset`
  std::string example = {};            ///< "0001 of s-0.tar is s-0/0001"; empty if no key changed
};

/// Shards often number their samples from zero each. If two shards share a key, every key is prefixed with the name of
/// its shard: "s-0/0001". The name is the part of the shard's path that differs between shards, without extension.
/// Throws Error: invalid_argument, naming both shards, if the prefixed keys are not unique either; corrupt, naming the
/// shard, if one shard has a key twice.
KeyOrder key_order(const Dataset& dataset);

}  // namespace penstock
