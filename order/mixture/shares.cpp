#include <algorithm>
#include <queue>
#include <tuple>

#include <base/numbers/wide.hpp>
#include <order/mixture/shares.hpp>
#include <order/permutation/permutation_rounds.hpp>

namespace penstock {
namespace {

// (a * b + add) / c, for results below 2^64. A 64-bit division takes a third of the time of a 128-bit one.
std::uint64_t scaled(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t add = 0) {
  std::uint64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(product, add, &product)) return product / c;
  return static_cast<std::uint64_t>((Wide{a} * b + add) / c);
}

constexpr std::uint64_t kSharesStream = 0x736861726573;  // "shares"

// Divides positions from the root down. `light_of` returns how many of a node's positions its lighter child has.
// Returns the number of each source.
template <typename LightOf>
std::vector<std::uint64_t> descend(const ShareTree& tree, std::uint64_t positions, const LightOf& light_of) {
  const auto nodes = tree.nodes();
  std::vector<std::uint64_t> of(tree.sources() + nodes.size(), 0);
  of[tree.root()] = positions;
  for (std::size_t n = nodes.size(); n-- > 0;) {
    const std::uint64_t all = of[tree.sources() + n];
    of[nodes[n].lighter] = light_of(n, all);
    of[nodes[n].heavier] = all - of[nodes[n].lighter];
  }
  of.resize(tree.sources());
  return of;
}

}  // namespace

Split::Split(const Options& options)
    : light_(options.light),
      both_(options.both),
      length_(options.length),
      key_(options.key),
      narrow_(options.narrow),
      light_length_(light_of(light_, both_, length_)) {}

std::uint64_t Split::light_of(std::uint64_t light, std::uint64_t both, std::uint64_t length) {
  return scaled(length, 2 * light, 2 * both, both - 1);
}

std::uint64_t Split::interval_of(std::uint64_t position) const {
  return scaled(position, light_, both_);
}

std::uint64_t Split::begin_of(std::uint64_t interval) const {
  return scaled(interval, both_, light_, light_ - 1);
}

// The lighter group's position in an interval. Clips the last, unfinished interval at the end of the epoch.
std::uint64_t Split::drawn_in(std::uint64_t interval, std::uint64_t begin, std::uint64_t end) const {
  std::uint64_t room = std::min(end, length_) - begin;
  if (narrow_) {
    const std::uint64_t middle = std::max<std::uint64_t>(room / 8, 1);
    begin += (room - middle) / 2;
    room = middle;
  }
  const std::uint64_t draw = mix(key_ + interval * kGolden) >> 32;
  return begin + static_cast<std::uint64_t>(Wide{draw} * room >> 32);
}

void Split::go_to(std::uint64_t position) {
  const bool follows = position == interval_.end;
  const std::uint64_t number = follows ? interval_.number + 1 : interval_of(position);
  const std::uint64_t begin = follows ? interval_.end : begin_of(number), end = begin_of(number + 1);
  interval_ = {number, begin, end, number < light_length_ ? drawn_in(number, begin, end) : ~std::uint64_t{0}};
}

std::uint64_t Split::light_at(std::uint64_t index) {
  const std::uint64_t begin = index == next_interval_ ? next_begin_ : begin_of(index);
  next_interval_ = index + 1;
  next_begin_ = begin_of(index + 1);
  return drawn_in(index, begin, next_begin_);
}

std::uint64_t Split::light_before(std::uint64_t end) const {
  const std::uint64_t interval = interval_of(end);
  if (interval >= light_length_) return light_length_;
  return interval + (drawn_in(interval, begin_of(interval), begin_of(interval + 1)) < end ? 1 : 0);
}

std::uint64_t Split::end_of_run(std::uint64_t before) {
  return before < light_length_ ? light_at(before) - before : ~std::uint64_t{0};
}

// Finds the run that contains an index of the heavier group. The number of lighter positions before it is the number of
// those with at most `index` heavier positions before them. The search starts at an estimate by weight, and goes back
// while that is too high.
void Split::go_to_run(std::uint64_t index) {
  if (index != run_.end || index == 0) {
    run_.before = std::min(scaled(index, light_, both_ - light_), light_length_);
    while (run_.before > 0 && end_of_run(run_.before - 1) > index) --run_.before;
    run_.begin = run_.before > 0 ? end_of_run(run_.before - 1) : 0;
    run_.end = end_of_run(run_.before);
  }
  while (run_.end <= index) run_ = {run_.before + 1, run_.end, end_of_run(run_.before + 1)};
}

ShareTree::ShareTree(std::span<const std::uint64_t> weights)
    : sources_(static_cast<std::uint32_t>(weights.size())), root_(0) {
  using Entry = std::tuple<std::uint64_t, std::uint32_t>;  // weight, number
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> lightest;
  for (std::uint32_t s = 0; s < sources_; ++s)
    if (weights[s] > 0) lightest.emplace(weights[s], s);
  while (lightest.size() > 1) {
    const auto [light, lighter] = lightest.top();
    lightest.pop();
    const auto [heavy, heavier] = lightest.top();
    lightest.pop();
    lightest.emplace(light + heavy, sources_ + static_cast<std::uint32_t>(nodes_.size()));
    nodes_.push_back({lighter, heavier, light, light + heavy});
  }
  root_ = std::get<1>(lightest.top());
  narrow_where_deep(weights);
}

// Each node divides its positions with an error below one. A source also shares the errors of all nodes above it, in
// proportion to its weight. If the sum could exceed two, the nodes above it draw from the middle of their intervals
// only, which lowers their errors.
void ShareTree::narrow_where_deep(std::span<const std::uint64_t> weights) {
  std::vector<std::uint32_t> above(sources_ + nodes_.size(), root_);
  for (std::uint32_t n = 0; n < nodes_.size(); ++n) above[nodes_[n].lighter] = above[nodes_[n].heavier] = sources_ + n;
  for (std::uint32_t s = 0; s < sources_; ++s) {
    if (weights[s] == 0) continue;
    double off = 1;
    for (std::uint32_t number = above[s]; number != root_; number = above[number])
      off += static_cast<double>(weights[s]) / static_cast<double>(nodes_[number - sources_].both);
    if (off <= 2) continue;
    for (std::uint32_t number = above[s];; number = above[number]) {
      nodes_[number - sources_].narrow = true;
      if (number == root_) break;
    }
  }
}

std::vector<std::uint64_t> ShareTree::counts_of(std::uint64_t length) const {
  return descend(*this, length, [&](std::size_t node, std::uint64_t all) {
    return Split::light_of(nodes_[node].light, nodes_[node].both, all);
  });
}

Shares::Shares(const ShareTree& tree, std::uint64_t length, std::uint64_t seed, std::uint64_t epoch)
    : tree_(&tree), parents_(tree.sources() + tree.nodes().size()) {
  const std::uint64_t key = order_key(seed, epoch, kSharesStream);
  const auto nodes = tree.nodes();
  splits_.assign(nodes.size(), Split({}));
  descend(tree, length, [&](std::size_t n, std::uint64_t all) {
    splits_[n] = Split({.light = nodes[n].light,
                        .both = nodes[n].both,
                        .length = all,
                        .key = mix(key + (n + 1) * kGolden),
                        .narrow = nodes[n].narrow});
    return splits_[n].light_length();
  });
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    parents_[nodes[n].lighter] = {n, true};
    parents_[nodes[n].heavier] = {n, false};
  }
}

SharePlace Shares::at(std::uint64_t position) {
  SharePlace place{tree_->root(), position};
  while (place.source >= tree_->sources()) {
    const std::size_t n = place.source - tree_->sources();
    const ShareTree::Node& node = tree_->nodes()[n];
    const Split::Side side = splits_[n].side_of(place.index);
    place = {side.light ? node.lighter : node.heavier, side.index};
  }
  return place;
}

std::uint64_t Shares::position_of(std::uint32_t source, std::uint64_t index) {
  for (std::uint32_t number = source; number != tree_->root();) {
    const Parent parent = parents_[number];
    index = parent.lighter ? splits_[parent.node].light_at(index) : splits_[parent.node].heavy_at(index);
    number = tree_->sources() + parent.node;
  }
  return index;
}

std::vector<std::uint64_t> Shares::counts_before(std::uint64_t end) const {
  return descend(*tree_, end, [&](std::size_t node, std::uint64_t all) { return splits_[node].light_before(all); });
}

}  // namespace penstock
