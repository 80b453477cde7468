#include <algorithm>

#include <penstock/transforms/chain/chain.hpp>

namespace penstock {
namespace {

Chain one(Step step) {
  Chain chain;
  chain.steps.push_back(std::move(step));
  return chain;
}

}  // namespace

Chain operator|(Chain left, const Chain& right) {
  if (left.misuse.empty()) left.misuse = right.misuse;
  if (!right.sources.empty()) {
    if (!left.sources.empty() || !left.steps.empty()) left.misuse = "field() must come first in a chain, and once";
    left.sources = right.sources;
  }
  if (right.followed) {
    if (left.followed || !left.steps.empty()) left.misuse = "follow() must come before the steps of a chain, and once";
    left.followed = right.followed;
  }
  left.steps.insert(left.steps.end(), right.steps.begin(), right.steps.end());
  return left;
}

Chain field(const std::string& alternatives) {
  Chain chain;
  std::size_t begin = 0;
  while (begin <= alternatives.size()) {
    const std::size_t end = std::min(alternatives.find('|', begin), alternatives.size());
    chain.sources.push_back(alternatives.substr(begin, end - begin));
    if (chain.sources.back().empty()) chain.misuse = "field(\"" + alternatives + "\") has an empty name";
    begin = end + 1;
  }
  return chain;
}

Chain follow(const std::string& output) {
  Chain chain;
  chain.followed = output;
  return chain;
}

Chain label(std::int64_t classes) {
  Chain chain = one(step::Label{.classes = classes});
  if (classes < 0) chain.misuse = "label() needs a number of classes above 0";
  return chain;
}

Chain raw() {
  return one(step::Raw{});
}

Chain boxes() {
  return one(step::Boxes{});
}

Chain key_points() {
  return one(step::Points{});
}

Chain decode(std::shared_ptr<const Codec> codec) {
  const bool given = codec != nullptr;
  Chain chain = one(step::OwnDecode{.codec = std::move(codec)});
  if (!given) chain.misuse = "decode() needs a codec";
  return chain;
}

Chain transform(std::shared_ptr<const Transform> transform) {
  const bool given = transform != nullptr;
  Chain chain = one(step::OwnTransform{.transform = std::move(transform)});
  if (!given) chain.misuse = "transform() needs a transform";
  return chain;
}

namespace array {

Chain decode() {
  return one(step::Elements{});
}

Chain random_window(std::int64_t rows) {
  return one(step::Window{.rows = rows});
}

Chain cast(DType dtype) {
  return one(step::Cast{.dtype = dtype});
}

}  // namespace array

}  // namespace penstock
