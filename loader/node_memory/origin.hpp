// Identifies what the values of a cache are derived from, so that only loaders that would keep the same values share
// a cache.
#pragma once

#include <cstdint>
#include <string_view>

#include <loader/node_memory/node_memory.hpp>
#include <penstock/dataset.hpp>
#include <penstock/storage.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Two hashes of everything added, which depend on the order.
class Origin {
 public:
  void add(std::uint64_t number);
  void add(std::string_view text);
  const MemoryKey& key() const { return key_; }

 private:
  MemoryKey key_{0x70656E73746F636B, 0xCBF29CE484222325};
};

/// Returns the origin for the samples of a dataset, the present state of its files, and a program.
Origin origin_of(const Dataset& dataset, const Program& program, Checksums checksums);

}  // namespace penstock
