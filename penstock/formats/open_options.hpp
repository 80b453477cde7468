// Options of open(): each overrides a decision that open() otherwise takes from the names of files.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

/// docs/formats.md, "How a path is read", describes the decisions.
struct OpenOptions {
  std::string format = {};  ///< name of a format ("tar", ..., "folder"); empty: found out
  std::string split = {};   ///< opens the folder of this split; empty: the path itself
  bool split_names = true;  ///< false: folders named like splits are ordinary folders, or classes
  std::string key = {};     ///< "last_dot" or "first_dot": where keys end in folders and ZIP archives; empty: found out

  /// Names of the classes; position = class index. Folders of classes are numbered by it. Empty: sorted names.
  std::vector<std::string> classes = {};
  std::string rows = {};  ///< field with a row for each sample, in HDF5 and NPZ files; empty: found out

  /// Whether they change the samples that a folder or ZIP archive of files has.
  bool change_names() const { return !split.empty() || !split_names || !key.empty(); }

  friend bool operator==(const OpenOptions&, const OpenOptions&) = default;
};

/// An option as programs outside C++ write it. A switch is "true" or "false", a list is an array of JSON.
struct OpenOption {
  std::string_view name;  ///< of the member, and in Python
  std::string_view flag;  ///< of the command
  std::string_view help;
  std::string OpenOptions::*text = nullptr;
  bool OpenOptions::*flag_value = nullptr;                ///< instead of `text`
  std::vector<std::string> OpenOptions::*list = nullptr;  ///< instead of `text`
};

/// All of them. Records, the command and Python derive from this table; an option is added by a member and a line here.
inline constexpr std::array kOpenOptions{
    OpenOption{"format", "--source-format", "Format of the data, if names allow two: tar, hdf5, ..., folder",
               &OpenOptions::format},
    OpenOption{"split", "--split", "Split to open: the sub-folder train, val, test or the like", &OpenOptions::split},
    OpenOption{"split_names", "--split-names", "false: sub-folders named like splits are ordinary folders", nullptr,
               &OpenOptions::split_names},
    OpenOption{"key", "--source-key", "Where keys of files end: last_dot or first_dot", &OpenOptions::key},
    OpenOption{"classes", "--source-classes", "Names of the classes in their order, as JSON: '[\"cat\", \"dog\"]'",
               nullptr, nullptr, &OpenOptions::classes},
    OpenOption{"rows", "--source-rows", "Field with a row for each sample, if columns of HDF5 or NPZ files differ",
               &OpenOptions::rows}};

/// Sets the option. Throws Error: invalid_argument, for an unknown name, for a switch that is neither "true" nor
/// "false", and for a list that is no array of texts.
void set_open_option(OpenOptions& options, std::string_view name, std::string_view value);

struct OpenOptionValue {
  std::string_view name;
  std::string value;
};
/// The options that differ from the defaults.
std::vector<OpenOptionValue> given_options(const OpenOptions& options);

/// ", format=\"tar\", split_names=False": as Python's open() is called with them. Empty without any.
std::string options_text(const OpenOptions& options);

/// Throws Error: invalid_argument, for values that no option has.
void check_options(const OpenOptions& options);

}  // namespace penstock
