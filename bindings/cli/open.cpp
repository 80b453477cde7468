#include "open.hpp"

#include <chrono>
#include <cstdio>
#include <string>

#include <formats/labels/emptiness.hpp>
#include <formats/places/address.hpp>
#include <formats/rows/read_table.hpp>
#include <loader/choices/dataset_record.hpp>
#include <penstock/sampling.hpp>

#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

constexpr std::chrono::milliseconds kTellAfter{1000};

// Opens a record that a program wrote for this command, because a view has no path.
Dataset open_record(const std::filesystem::path& path) {
  const std::string record = read_text_file(path);
  return open_quietly([&](const OpenProgress& progress) {
    return from_record(record, [&](const std::filesystem::path& part, const OpenOptions& options) {
      return open(part, options, progress);
    });
  });
}

// Files of mixtures and records contain the options of the datasets that they name.
void require_no_options(const std::filesystem::path& path, const OpenOptions& options) {
  if (options == OpenOptions()) return;
  throw Error::invalid_argument(
      "the file contains the options of its datasets; leave out " + options_text(options).substr(2),
      {.dataset = path.string()});
}

}  // namespace

void add_open_options(CLI::App& command, OpenOptions& options) {
  for (const OpenOption& option : kOpenOptions) {
    const auto set = [&options, name = option.name](const std::string& value) {
      set_open_option(options, name, value);
    };
    command.add_option_function<std::string>(std::string(option.flag), set, std::string(option.help))
        ->type_name(option.text != nullptr   ? "TEXT"
                    : option.list != nullptr ? "JSON"
                                             : "true|false");
  }
}

Dataset open_quietly(const std::filesystem::path& path, const OpenOptions& options) {
  return open_quietly([&](const OpenProgress& progress) { return open(path, options, progress); });
}

Dataset open_quietly(const std::function<Dataset(const OpenProgress&)>& opening) {
  Progress progress("indexing", "parts");
  try {
    const auto indexing = [&](std::uint64_t done, std::uint64_t total) {
      if (!progress(done, total)) throw Error::resource("interrupted");
    };
    bool told = false;
    const auto waiting = [&](const std::filesystem::path& lock, std::chrono::milliseconds waited) {
      if (interrupted()) throw Error::resource("interrupted");
      if (told || waited < kTellAfter) return;
      told = true;
      std::fprintf(stderr, "penstock: waiting for another process that builds the index (it holds the lock %s)\n",
                   lock.c_str());
    };
    return opening(OpenProgress(indexing, waiting));
  } catch (const Error& error) {
    throw OpenFailure(error);
  }
}

Dataset open_with_progress(const std::filesystem::path& path, const OpenOptions& options) {
  Dataset dataset = open_quietly(path, options);
  for (const std::string& warning : warnings_of(dataset))
    std::fprintf(stderr, "penstock: warning: %s: %s\n", shown_place(path).c_str(), warning.c_str());
  return dataset;
}

Source open_source(const std::filesystem::path& path, const OpenOptions& options) {
  const bool record = is_record_file(path);
  if (!record && !is_mixture_file(path)) return {.dataset = open_with_progress(path, options)};
  require_no_options(path, options);
  if (record) return {.dataset = open_record(path)};
  try {
    auto mixture = std::make_shared<const Mixture>(read_mixture(path));
    return {.dataset = mixture->dataset(), .mixture = mixture};
  } catch (const Error& error) {
    throw OpenFailure(error);
  }
}

}  // namespace penstock::cli
