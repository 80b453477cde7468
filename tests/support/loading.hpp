// Makes small datasets, and asks a loader for what tests compare: its bytes, its samples.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/pack.hpp>

#include "support/temporary_folder.hpp"

namespace penstock::test {

/// A version 1.0 .npy file of float32 values. Source: NumPy NEP 1.
inline std::string npy_file(const std::vector<float>& values, const std::string& shape) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }";
  header.append(63 - (10 + header.size()) % 64, ' ').push_back('\n');
  std::string file("\x93NUMPY\x01\x00", 8);
  file.push_back(static_cast<char>(header.size() & 0xff));
  file.push_back(static_cast<char>(header.size() >> 8));
  file.append(header);
  file.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  return file;
}

inline std::string number_key(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return "s" + std::string(6 - digits.size(), '0') + digits;
}

/// Samples s000000.npy (float32 (3,): number, number squared, -number) and s000000.cls (number modulo 10), shared
/// stems.
inline void write_arrays(const std::filesystem::path& folder, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i);
    write_file(folder / (number_key(i) + ".npy"), npy_file({value, value * value, -value}, "(3,)"));
    write_file(folder / (number_key(i) + ".cls"), std::to_string(i % 10));
  }
}

/// A folder of write_arrays().
struct Arrays {
  explicit Arrays(std::uint64_t count) { write_arrays(folder / "data", count); }
  Dataset dataset() const { return open(folder / "data"); }
  TemporaryFolder folder;
};

inline Dataset packed(const Dataset& source, const std::filesystem::path& destination, const std::string& format) {
  ConvertOptions options;
  options.format = format;
  options.workers = 1;
  options.shard_size = 64 << 10;  // several shards even of small data
  convert(source, destination, options);
  return open(destination);
}

/// FNV-1a over everything a batch delivers, in order.
class Digest {
 public:
  void add(const Batch& batch) {
    for (const Field& field : batch.fields()) {
      add(field.values.data, field.values.bytes());
      add(field.offsets.data(), field.offsets.size_bytes());
    }
    add(batch.valid().data(), batch.valid().size_bytes());
    for (const std::string_view key : batch.keys()) add(key.data(), key.size());
  }
  void add(const void* data, std::size_t bytes) {
    const auto* byte = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) hash_ = (hash_ ^ byte[i]) * 0x100000001b3;
  }
  std::uint64_t value() const { return hash_; }
  friend bool operator==(const Digest&, const Digest&) = default;

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// One digest per batch of one epoch.
inline std::vector<std::uint64_t> batch_digests(Loader& loader) {
  std::vector<std::uint64_t> digests;
  while (const auto batch = loader.next()) {
    Digest digest;
    digest.add(*batch);
    digests.push_back(digest.value());
  }
  return digests;
}

/// How often each sample is delivered in rows that count, over what is left of the epoch.
inline void count_samples(Loader& loader, std::map<std::uint64_t, int>& counts) {
  while (const auto batch = loader.next()) {
    for (std::uint32_t row = 0; row < batch->size(); ++row) {
      if (batch->valid()[row] != 0) ++counts[batch->samples()[row]];
    }
  }
}

}  // namespace penstock::test
