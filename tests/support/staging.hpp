// Makes sources for the tests of staging, and lists what a copy's folder holds.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <penstock/verify.hpp>
#include <storage/read/read_engine.hpp>

#include "faulty_engine.hpp"
#include "loading.hpp"
#include "random_samples.hpp"

namespace penstock::test {

inline void write_folder(const std::filesystem::path& folder, std::size_t count = 60, unsigned seed = 4) {
  for (const MadeSample& sample : random_samples(count, seed))
    for (const auto& [field, bytes] : sample.fields) write_file(folder / (sample.key + "." + field), bytes);
}

// What users put there: no journal, no sidecar.
inline std::map<std::string, std::string> visible_files(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    if (entry.is_regular_file() && entry.path().filename().string().front() != '.' && !name.ends_with("-idx"))
      files[name] = read_file(entry.path());
  }
  return files;
}

inline std::set<std::string> hidden_names(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename().string().front() == '.')
      names.insert(std::filesystem::relative(entry.path(), folder).string());
  }
  return names;
}

inline void check_equal(const Dataset& copy, const Dataset& source) {
  CHECK(copy.format() == source.format());
  CHECK(copy.fingerprint() == source.fingerprint());
  const VerifyResult result = verify(copy, {.against = &source, .workers = 1});
  CHECK(result.bad_count == 0);
  CHECK(result.compared == result.values);
  CHECK(result.samples == source.size());
}

template <typename Work>
Error error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return Error::resource("");
}

inline bool says(const Error& error, const std::vector<std::string>& words) {
  const std::string text = error.what();
  INFO(text);
  for (const std::string& word : words) {
    const bool found = text.find(word) != std::string::npos;
    CHECK_MESSAGE(found, word << " is missing in: " << text);
    if (!found) return false;
  }
  return true;
}

inline auto with_faults(const Faults& faults) {
  return [faults](const FaultyEngine::Make& make, OnRead on_read) -> std::unique_ptr<ReadEngine> {
    return std::make_unique<FaultyEngine>(make, faults, std::move(on_read));
  };
}

inline void flip_byte(const std::filesystem::path& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
}

// A dataset of one large file: a .npy of `rows` rows of 64 KiB.
inline void write_large_npy(const std::filesystem::path& path, std::size_t rows) {
  std::vector<float> values(rows * 16384);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 100'003);
  write_file(path, npy_file(values, "(" + std::to_string(rows) + ", 16384)"));
}

}  // namespace penstock::test
