// Makes the inputs that fuzzing starts from: whole files of each kind.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace penstock::fuzz {

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
std::string read_file(const std::filesystem::path& path);

/// Where seeds go: FOLDER/TARGET/NAME.
class Seeds {
 public:
  explicit Seeds(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void add(std::string_view target, std::string_view name, std::string_view bytes) const;
  /// A file for others to write, removed by the next call.
  std::filesystem::path scratch(std::string_view name) const;
  void add_file(std::string_view target, std::string_view name, const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;
};

void add_packed(const Seeds& seeds);   ///< each packing as penstock writes it, and their indexes
void add_values(const Seeds& seeds);   ///< images, arrays and texts
void add_clouds(const Seeds& seeds);   ///< points as penstock stores them, and LAS
void add_foreign(const Seeds& seeds);  ///< what penstock reads and does not write
void add_remote(const Seeds& seeds);   ///< answers of stores and services, and what is kept of them
void add_hdf5(const Seeds& seeds);     ///< layouts, filters and types, by libhdf5

}  // namespace penstock::fuzz
