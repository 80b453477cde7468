// Says what the values of a cache are made of, so that only loaders share one that would keep the same.
#pragma once

#include <cstdint>
#include <string_view>

#include <loader/node_memory/node_memory.hpp>
#include <penstock/dataset.hpp>
#include <penstock/storage.hpp>
#include <transforms/program/program.hpp>

namespace penstock {

/// Two hashes of what is added, in that order.
class Origin {
 public:
  void add(std::uint64_t number);
  void add(std::string_view text);
  const MemoryKey& key() const { return key_; }

 private:
  MemoryKey key_{0x70656E73746F636B, 0xCBF29CE484222325};
};

/// Of the samples of a dataset, the files that they lie in as these are now, and a program.
Origin origin_of(const Dataset& dataset, const Program& program, Checksums checksums);

}  // namespace penstock
