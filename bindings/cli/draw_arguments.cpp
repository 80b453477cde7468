#include "draw_arguments.hpp"

#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

#include "output.hpp"

namespace penstock::cli {

void DrawArguments::declare(CLI::App& command) {
  CLI::Option* by_weight = command.add_option(
      "--weights", weights, "Draw samples by weight: the field that holds it, such as json:weight; takes a shuffle");
  CLI::Option* repeated =
      command.add_option("--repeats", repeats, "Repeat samples: the field that says how often each comes in an epoch");
  CLI::Option* balanced = command.add_option(
      "--balance", balance, "Each value of this field as often as any other: of so many samples, one of each");
  by_weight->excludes(repeated)->excludes(balanced);
  repeated->excludes(balanced);
  command
      .add_flag("!--no-replacement", replacement, "With --weights: no sample twice in an epoch, heavier ones sooner")
      ->needs(by_weight);
  command.add_option("--epoch-samples", epoch_samples, "With these: the length of an epoch");
  command.add_option("--shuffle-window", shuffle_window,
                     "Shuffle the samples of each window of so many neighbours alone; 0: of all");
}

std::shared_ptr<const Draws> DrawArguments::draws(const Dataset& dataset) const {
  const auto tick = [] {
    if (interrupted()) throw Error::resource("interrupted");
  };
  const auto made = [](Draws draws) { return std::make_shared<const Draws>(std::move(draws)); };
  if (!weights.empty()) {
    const auto kind = replacement ? Draws::Kind::weighted : Draws::Kind::once;
    return made(drawn_by(kind, dataset, weights, epoch_samples, tick));
  }
  if (!repeats.empty()) return made(drawn_by(Draws::Kind::repeated, dataset, repeats, epoch_samples, tick));
  if (!balance.empty()) return made(balanced_by(dataset, balance, epoch_samples, tick));
  if (epoch_samples != 0)
    throw Error::invalid_argument(
        "--epoch-samples takes --weights, --repeats or --balance: without them an epoch has "
        "each sample once");
  return nullptr;
}

}  // namespace penstock::cli
