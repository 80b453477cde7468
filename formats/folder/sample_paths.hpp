// Groups paths into samples: files in a folder, or entries in an archive.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <formats/index/index.hpp>
#include <penstock/open_options.hpp>

namespace penstock {

/// Collects paths, then adds their samples to an index by the rules of folder.hpp: which files count, key and field
/// from the name, class folders or shared stems, the attributes.
class SamplePaths {
 public:
  /// `place` is for messages: the folder or archive.
  explicit SamplePaths(const OpenOptions& options, std::string place) : options_(options), place_(std::move(place)) {}

  /// `locate` receives `number` with the path.
  void add_file(std::string_view path, std::uint64_t number);
  void add_folder(std::string_view path);
  /// Counts a path that belongs to no sample.
  void leave_out(std::string_view path);
  std::uint64_t size() const { return files_.size(); }  ///< files that count
  std::uint64_t left_out() const { return left_out_; }  ///< paths that belong to no sample
  /// The message if no file counts. Names a file that was left out.
  std::string no_extensions() const;

  enum class Order : std::uint8_t {
    by_key,     ///< samples in the bytewise order of their keys
    by_number,  ///< samples in the order of their first files' numbers
  };
  /// Sets the current sample's field to the file.
  using LocateField =
      std::function<void(IndexBuilder& builder, std::uint32_t field, std::string_view path, std::uint64_t number)>;

  /// Returns whether the first file of a field of tables can be points. Null: all tables count as points.
  using CanBePoints = std::function<bool(std::string_view path)>;

  /// Call once, after everything is added. Throws Error: corrupt, with both files, if two are the same field of one
  /// sample; invalid_argument, with the option that decides, if the names allow two readings.
  void build(IndexBuilder& builder, Order order, const LocateField& locate, const CanBePoints& can_be_points = {}) &&;

 private:
  struct File {
    std::string path;
    std::uint64_t number;
    std::uint32_t key_length;       // the key is a prefix of the path
    std::uint32_t extension_begin;  // after the key, unless the key is the full name
    bool media;

    std::string_view key() const { return std::string_view(path).substr(0, key_length); }
    std::string_view extension() const { return std::string_view(path).substr(extension_begin); }
    std::string_view first_folder() const { return std::string_view(path).substr(0, path.find('/')); }
    bool top_level() const { return path.find('/') == std::string::npos; }
  };
  using Files = std::vector<File>::const_iterator;

  bool shares_key(std::size_t i) const;
  bool is_class_folders() const;
  void refuse_splits(bool classes) const;
  void sort();
  void end_keys();
  void keep_apart_by_full_name();
  void leave_out(const std::vector<bool>& which);
  void leave_out_notes();
  void leave_out_strays();
  void count_tables_as_media();
  std::vector<std::pair<Files, Files>> samples(Order order) const;
  void add_field(IndexBuilder& builder, Files first, Files file, const LocateField& locate,
                 const CanBePoints& can_be_points);

  const OpenOptions options_;
  const std::string place_;
  std::vector<File> files_;
  std::vector<std::string> first_level_;  // folders
  std::set<std::string> tables_;          // names of fields of tables that were already checked
  std::uint64_t left_out_ = 0;
  std::string left_out_example_;  // the first path left out
  std::string key_rule_;          // KeyEnds::rule
};

}  // namespace penstock
