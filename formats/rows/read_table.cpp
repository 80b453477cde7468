#include <algorithm>
#include <array>
#include <cctype>

#include <formats/io/file_bytes.hpp>
#include <formats/places/places.hpp>
#include <formats/rows/forms.hpp>
#include <formats/rows/read_table.hpp>
#include <formats/text/byte_order_mark.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

enum class Form { csv, json, json_lines, pickle };

struct Ending {
  std::string_view extension;
  Form form;
};

constexpr std::array kEndings{Ending{".csv", Form::csv},           Ending{".tsv", Form::csv},
                              Ending{".json", Form::json},         Ending{".jsonl", Form::json_lines},
                              Ending{".ndjson", Form::json_lines}, Ending{".pkl", Form::pickle},
                              Ending{".pickle", Form::pickle}};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

const Ending* ending_of(const std::filesystem::path& path) {
  const auto* found = std::ranges::find(kEndings, lower(path.extension().string()), &Ending::extension);
  return found == kEndings.end() ? nullptr : found;
}

RowTable pickled(const std::filesystem::path& path) {
  const FileBytes file = read_place(path);
  RowTable table = pickle_table(file.bytes());
  file.require_whole();
  return table;
}

}  // namespace

bool is_table_name(const std::filesystem::path& path) {
  return ending_of(path) != nullptr;
}

RowTable read_table(const std::filesystem::path& path) {
  try {
    const Ending* const ending = ending_of(path);
    if (ending == nullptr) throw Error::unsupported("is not the name of a table: .csv, .tsv, .json, .jsonl or .pkl");
    if (ending->form == Form::pickle) return pickled(path);
    const std::string text = read_text_file(path);
    if (ending->form == Form::csv) return csv_table(text);
    return ending->form == Form::json ? json_table(text) : json_lines_table(text);
  } catch (const Error& error) {
    throw error.in({.shard = path.string()});
  }
}

std::string read_text_file(const std::filesystem::path& path) {
  const FileBytes file = read_place(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  std::string copy(without_byte_order_mark(text));
  file.require_whole();
  return copy;
}

}  // namespace penstock
