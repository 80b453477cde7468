#include <algorithm>

#include <penstock/base/error.hpp>
#include <penstock/transforms/chain/chain.hpp>

namespace penstock {

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
    if (chain.sources.back().empty())
      throw Error::invalid_argument("field(\"" + alternatives + "\") has an empty name");
    begin = end + 1;
  }
  return chain;
}

Chain follow(const std::string& output) {
  Chain chain;
  chain.followed = output;
  return chain;
}

}  // namespace penstock
