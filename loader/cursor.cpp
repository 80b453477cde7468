#include <utility>

#include <penstock/formats/error.hpp>
#include <penstock/loader/cursor.hpp>

namespace penstock {

void Cursor::go_to(const Position& position) {
  position_ = position;
  options_.seed = position.seed;
  plan_ = Plan(options_, position.epoch, position.start);
}

LoaderState Cursor::save(std::uint64_t fingerprint, std::string transforms) const {
  return {.dataset = fingerprint,
          .samples = options_.samples,
          .seed = position_.seed,
          .epoch = position_.epoch,
          .start = position_.start,
          .batch = position_.batch,
          .world = options_.world,
          .batch_size = options_.batch_size,
          .transforms = std::move(transforms)};
}

Position Cursor::load(const LoaderState& state, std::uint64_t fingerprint) const {
  if (state.dataset != fingerprint) throw Error::invalid_argument("the state belongs to another dataset");
  if (state.samples != options_.samples) {
    throw Error::invalid_argument("the state counts " + std::to_string(state.samples) +
                                  " samples an epoch, this loader " + std::to_string(options_.samples));
  }
  if (state.world == options_.world && state.batch_size == options_.batch_size) {
    return {state.seed, state.epoch, state.start, state.batch};
  }
  PlanOptions then = options_;
  then.seed = state.seed;
  then.world = state.world;
  then.batch_size = state.batch_size;
  then.rank = 0;
  return {state.seed, state.epoch, Plan(then, state.epoch, state.start).position_after(state.batch), 0};
}

}  // namespace penstock
