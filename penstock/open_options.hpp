// The options of open(), and its progress reports.
//
//   const auto train = penstock::open("imagenet", penstock::OpenOptions{.split = "train"});
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace penstock {

/// The options of open(). docs/formats.md, "How a path is read", describes the decisions that they override.
struct OpenOptions {
  std::string format = {};  ///< name of a format ("tar", ..., "folder"); empty: detected
  std::string split = {};   ///< opens the folder of this split; empty: the path itself
  bool split_names = true;  ///< false: folders named like splits are ordinary folders, or classes
  /// "last_dot" or "first_dot": end of the key in names of files, in folders and ZIP archives; empty: detected
  std::string key = {};

  /// Names of the classes; position = class index. Folders of classes are numbered by it. Empty: sorted names.
  std::vector<std::string> classes = {};
  std::string rows = {};  ///< field with one row per sample, in HDF5 and NPZ files; empty: detected

  std::string path_column = {};   ///< column of a table that contains the paths of files; empty: detected
  std::string label_column = {};  ///< column of a table that contains the labels; empty: detected
  std::string root = {};          ///< folder of the relative paths in a table; empty: the folder of the table
  /// "skip": leaves out the rows of a table whose files are missing; empty or "raise": an error
  std::string missing_files = {};

  /// Whether the options change the samples of a folder or of a ZIP archive of files.
  bool change_names() const { return !split.empty() || !split_names || !key.empty(); }

  friend bool operator==(const OpenOptions&, const OpenOptions&) = default;
};

/// An option as programs outside C++ write it. A switch is "true" or "false"; a list is a JSON array.
struct OpenOption {
  std::string_view name;  ///< of the member, and of the option in Python
  std::string_view flag;  ///< of the command
  std::string_view help;
  std::string OpenOptions::*text = nullptr;
  bool OpenOptions::*flag_value = nullptr;                ///< instead of `text`
  std::vector<std::string> OpenOptions::*list = nullptr;  ///< instead of `text`
};

/// All options. Records, the command and Python derive from this table. A new option needs a member and a line here.
inline constexpr std::array kOpenOptions{
    OpenOption{"format", "--source-format", "Format of the data, if names allow two formats: tar, hdf5, ..., folder",
               &OpenOptions::format},
    OpenOption{"split", "--split", "Split to open: the sub-folder train, val, test or the like", &OpenOptions::split},
    OpenOption{"split_names", "--split-names", "false: sub-folders named like splits are ordinary folders", nullptr,
               &OpenOptions::split_names},
    OpenOption{"key", "--source-key", "End of the key in the name of a file: last_dot or first_dot", &OpenOptions::key},
    OpenOption{"classes", "--source-classes", "Names of the classes in their order, as JSON: '[\"cat\", \"dog\"]'",
               nullptr, nullptr, &OpenOptions::classes},
    OpenOption{"rows", "--source-rows", "Field with a row for each sample, if columns of HDF5 or NPZ files differ",
               &OpenOptions::rows},
    OpenOption{"path_column", "--path-column",
               "Column of a table, such as a CSV file, that contains the paths of files", &OpenOptions::path_column},
    OpenOption{"label_column", "--label-column", "Column of a table that contains the labels",
               &OpenOptions::label_column},
    OpenOption{"root", "--root", "Folder of the relative paths in a table. Default: the folder of the table",
               &OpenOptions::root},
    OpenOption{"missing_files", "--missing-files", "skip: leave out the rows of a table whose files are missing",
               &OpenOptions::missing_files}};

/// Sets one option. Throws Error: invalid_argument, for an unknown name, for a switch that is neither "true" nor
/// "false", and for a list that is not a JSON array of strings.
void set_open_option(OpenOptions& options, std::string_view name, std::string_view value);

/// The value of one option, as text.
struct OpenOptionValue {
  std::string_view name;
  std::string value;
};
/// The options that differ from the defaults.
std::vector<OpenOptionValue> given_options(const OpenOptions& options);

/// The options as arguments of Python's open(): ", format=\"tar\", split_names=False". Empty without any.
std::string options_text(const OpenOptions& options);

/// Throws Error: invalid_argument, for values that an option does not accept.
void check_options(const OpenOptions& options);

/// Reports the progress of open(): any callable of (bytes or files done, total). It may throw to end open(). `waiting`
/// may throw too. It is called ten times a second while another process holds the lock of the required index. Without
/// `waiting`, the first callable gets (0, 0) instead.
class OpenProgress {
 public:
  using Told = std::function<void(std::uint64_t done, std::uint64_t total)>;
  using Waiting = std::function<void(const std::filesystem::path& lock, std::chrono::milliseconds waited)>;

  OpenProgress() = default;
  template <typename Callable>
  requires(!std::same_as<std::remove_cvref_t<Callable>, OpenProgress> && std::constructible_from<Told, Callable>)
      OpenProgress(Callable&& told, Waiting waiting = {})  // NOLINT: callables are passed as they are
      : told_(std::forward<Callable>(told)), waiting_(std::move(waiting)) {}

  explicit operator bool() const { return static_cast<bool>(told_); }
  void operator()(std::uint64_t done, std::uint64_t total) const {
    if (told_) told_(done, total);
  }
  void wait(const std::filesystem::path& lock, std::chrono::milliseconds waited) const {
    waiting_ ? waiting_(lock, waited) : (*this)(0, 0);
  }

 private:
  Told told_;
  Waiting waiting_;
};

}  // namespace penstock
