#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include <bench/measure/units.hpp>
#include <formats/places/address.hpp>
#include <penstock/stage.hpp>

#include "command.hpp"
#include "open.hpp"
#include "output.hpp"
#include "progress.hpp"

namespace penstock::cli {
namespace {

struct StageArguments {
  std::string dataset, destination, engine = "auto";
  bool json = false, resume = false;
  bool verify = false, no_verify = false;
  std::optional<double> within;
  StageOptions stage;
  OpenOptions open;
};

// The kind of checks, for the report.
std::string_view checked(const StageArguments& options) {
  switch (options.stage.verify) {
    case StageVerify::never:
      return "not checked";
    case StageVerify::always:
      return "checked, all copies read again";
    case StageVerify::unless_known:
      break;
  }
  return "checked";
}

std::string json_of(const StageArguments& options, const StageResult& result) {
  nlohmann::ordered_json json{{"source", shown_place(options.dataset)},
                              {"destination", shown_place(options.destination)},
                              {"opens", result.opens.string()},
                              {"files", result.files},
                              {"bytes", result.bytes},
                              {"kept_files", result.kept_files},
                              {"kept_bytes", result.kept_bytes},
                              {"copied_files", result.copied_files()},
                              {"copied_bytes", result.copied_bytes()},
                              {"linked_files", result.linked_files},
                              {"linked_bytes", result.linked_bytes},
                              {"seconds", result.seconds},
                              {"mb_per_s", result.mb_per_s()},
                              {"engine", nullptr},
                              {"engine_reason", result.engine_reason},
                              {"checked", options.stage.verify != StageVerify::never}};
  if (result.engine != EngineKind::automatic) json["engine"] = name(result.engine);
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string text_of(const StageArguments& options, const StageResult& result) {
  std::string text = result.opens.string() + ": " + with_commas(result.copied_files()) + " files copied";
  if (result.kept_files > 0) {
    text += ", " + with_commas(result.kept_files) + " kept (" + bytes_text(result.kept_bytes) + ")";
  }
  if (result.linked_files > 0) {
    text += ", " + with_commas(result.linked_files) + " linked to the source (" + bytes_text(result.linked_bytes) +
            "), because the time limit was reached";
  }
  text += "; " + bytes_text(result.copied_bytes()) + " in " + fixed(result.seconds, 1) + " s";
  if (result.copied_files() > 0) {
    text += ", " + fixed(result.mb_per_s(), 0) + " MB/s, " + std::string(name(result.engine)) + " (" +
            result.engine_reason + ")";
  }
  return text + ", " + std::string(checked(options)) + "\n";
}

int run(StageArguments& options) {
  options.stage.engine = engine_named(options.engine);
  if (options.within) options.stage.within = std::chrono::duration<double>(*options.within);
  if (options.verify) options.stage.verify = StageVerify::always;
  if (options.no_verify) options.stage.verify = StageVerify::never;
  const Dataset dataset = open_with_progress(options.dataset, options.open);
  StageResult result;
  {
    std::unique_ptr<Progress> progress;
    bool waited = false;
    result = stage(dataset, options.destination, options.stage, [&](const StageProgress& now) {
      if (progress == nullptr || waited != now.waiting) {
        progress.reset();  // ends the line of the one before
        progress = std::make_unique<Progress>(now.waiting ? "waiting for another process that stages" : "staging",
                                              Progress::kBytes);
        waited = now.waiting;
      }
      return (*progress)(now.bytes, now.total_bytes, now.copied_bytes);
    });
  }
  print(options.json ? json_of(options, result) : text_of(options, result));
  return 0;
}

}  // namespace

Command stage_command(CLI::App& app) {
  const auto options = std::make_shared<StageArguments>();
  CLI::App* command = app.add_subcommand("stage", "Copy a dataset to node-local storage: resumable, checked");
  command->add_option("DATASET", options->dataset, "Dataset of any format, a folder of files, or an address")
      ->required();
  command
      ->add_option("DST", options->destination,
                   "Destination: a folder (also s3://, gs://, az://), or a file if the dataset is one file")
      ->required();
  command->add_option("--workers", options->stage.workers, "Threads that check and write; 0: usable cores, at most 8")
      ->capture_default_str();
  command
      ->add_option("--engine", options->engine,
                   "Engine that reads the source: auto (io_uring, else pread threads), io_uring, pread, inline or mmap")
      ->capture_default_str();
  CLI::Option* resume = command->add_flag("--resume", options->resume,
                                          "Keep files that are staged already, and resume large ones (the default)");
  command
      ->add_flag("--overwrite", options->stage.overwrite,
                 "Copy everything again, and replace DST once the copy is complete")
      ->excludes(resume);
  CLI::Option* verify = command->add_flag(
      "--verify", options->verify,
      "Read every copy again and compare it; by default only copies without a checksum in penstock.json");
  command->add_flag("--no-verify", options->no_verify, "Compare nothing")->excludes(verify);
  command
      ->add_option(
          "--within", options->within,
          "Time limit in seconds, or with a unit: 90s, 10m, 1h. Files that are not copied in time become links "
          "to the source")
      ->transform(CLI::AsNumberWithUnit(std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}}))
      ->option_text("TIME");
  command->add_flag("--json", options->json, "Print JSON");
  add_open_options(*command, options->open);
  command->footer(
      "Examples:\n"
      "  penstock stage /shared/train.tar.d /local/train.tar.d\n"
      "  penstock stage '/shared/train-{000..146}.tar' /local/train\n"
      "  penstock stage s3://bucket/train /local/train.tar.d\n"
      "  srun --ntasks-per-node=1 penstock stage --within 10m /shared/train.tar.d /local/train.tar.d\n"
      "The copy appears when it is complete. After a crash or Ctrl-C, the same command resumes.");
  return {command, [options] { return run(*options); }};
}

}  // namespace penstock::cli
