#include "draw_arguments.hpp"

#include <penstock/error.hpp>
#include <penstock/sampling.hpp>

#include "output.hpp"

namespace penstock::cli {

void DrawArguments::declare(CLI::App& command) {
  CLI::Option* by_weight = command.add_option(
      "--weights", weights, "Draw samples by the weights in this field, such as json:weight; requires shuffling");
  CLI::Option* repeated = command.add_option(
      "--repeats", repeats, "Repeat samples: this field contains the number of times that each occurs in an epoch");
  CLI::Option* balanced = command.add_option(
      "--balance", balance, "Balance the values of this field: with K values, every K samples have one of each");
  by_weight->excludes(repeated)->excludes(balanced);
  repeated->excludes(balanced);
  command
      .add_flag("!--no-replacement", replacement,
                "With --weights: draw each sample at most once per epoch, heavier ones earlier")
      ->needs(by_weight);
  command.add_option("--epoch-samples", epoch_samples,
                     "With --weights, --repeats or --balance: number of samples per epoch");
  command.add_option("--shuffle-window", shuffle_window,
                     "Shuffle samples only within windows of this many neighbours; 0: shuffle all");
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
        "--epoch-samples requires --weights, --repeats or --balance: without them, an epoch "
        "has each sample once");
  return nullptr;
}

}  // namespace penstock::cli
