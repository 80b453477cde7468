#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <base/printable.hpp>
#include <formats/absent_fields.hpp>
#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <transforms/image/jpt/encoder.hpp>
#include <transforms/image/jpt/jpt.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

struct CatArguments {
  std::string dataset, value;
  bool stored = false;
  OpenOptions open;
};

// Sample and field that KEY.FIELD names. Keys and field names may both hold dots: every way to cut is tried.
std::pair<std::uint64_t, std::uint32_t> find_value(const Dataset& dataset, std::string_view value) {
  bool field_known = false;
  for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
    const std::string ending = "." + dataset.fields()[field].name;
    if (!value.ends_with(ending)) continue;
    field_known = true;
    const auto sample = dataset.find(value.substr(0, value.size() - ending.size()));
    std::vector<Piece> pieces;
    if (sample && dataset.locate(*sample, field, pieces)) return {*sample, field};
  }
  const std::string name(value);
  const ErrorContext context{.dataset = dataset.path().string()};
  if (field_known) throw Error::invalid_argument("there is no value " + name, context);
  const std::string why = and_why_no_field(dataset, value.substr(value.find('.') + 1));
  const std::string fields = joined_text(dataset.fields(), ", ", &FieldSchema::name);
  throw Error::invalid_argument("there is no value " + name + "; it must end in one of the fields " + fields + why,
                                context);
}

int run(const CatArguments& options) {
  const Dataset dataset = open_with_progress(options.dataset, options.open);
  const auto [sample, field] = find_value(dataset, options.value);
  const std::vector<std::byte> bytes = read_field(dataset, sample, field);
  if (options.stored || !jpt_codec().recognises(bytes)) {
    print(bytes);
    return 0;
  }
  jpt::Restorer restorer;
  const jpt::Restorer::File file = restorer.restore(bytes);
  if (!file.exact)
    std::fprintf(stderr,
                 "penstock: %s: the JPEG file has the same coefficients as the packed one, but not the same bytes\n",
                 options.value.c_str());
  print(file.bytes);
  return 0;
}

}  // namespace

Command cat_command(CLI::App& app) {
  const auto options = std::make_shared<CatArguments>();
  CLI::App* command =
      app.add_subcommand("cat", "Write one stored value to stdout; re-encoded photographs are restored to JPEG files");
  command->add_option("DATASET", options->dataset, "Dataset of any format, or a folder of files")->required();
  command->add_option("KEY.FIELD", options->value, "Name of the value, as `penstock ls` prints it")->required();
  command->add_flag("--stored", options->stored, "Write the bytes as they are stored, also of re-encoded photographs");
  add_open_options(*command, options->open);
  command->footer("Example:\n  penstock cat train.tar.d class_03/000013.jpg > photo.jpg");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
