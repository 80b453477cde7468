#include <memory>
#include <string>
#include <vector>

#include <formats/extent.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"

namespace penstock::cli {
namespace {

struct LsArguments {
  std::string dataset;
  bool sizes = false;
  OpenOptions open;
};

int run(const LsArguments& options) {
  const Dataset dataset = open_with_progress(options.dataset, options.open);
  std::string text;
  std::vector<Piece> pieces;
  for (std::uint64_t sample = 0; sample < dataset.size(); ++sample) {
    if (interrupted()) throw Error::resource("interrupted");
    for (std::uint32_t field = 0; field < dataset.fields().size(); ++field) {
      if (!dataset.locate(sample, field, pieces)) continue;
      text.append(dataset.key(sample)).append(".").append(dataset.fields()[field].name);
      if (options.sizes) text.append("\t").append(std::to_string(dataset.length(sample, field)));
      text.push_back('\n');
    }
    if (text.size() > 1 << 16 || sample + 1 == dataset.size()) {
      print(text);
      text.clear();
    }
  }
  return 0;
}

}  // namespace

Command ls_command(CLI::App& app) {
  const auto options = std::make_shared<LsArguments>();
  CLI::App* command = app.add_subcommand("ls", "List KEY.FIELD of every stored value, one per line");
  command->add_option("DATASET", options->dataset, "Dataset of any format, or a folder of files")->required();
  command->add_flag("-l,--sizes", options->sizes, "Add a tab and the stored size in bytes");
  add_open_options(*command, options->open);
  command->footer("Examples:\n  penstock ls train.tar.d | head\n  penstock ls -l train.tar.d | sort -k2n | tail -1");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
