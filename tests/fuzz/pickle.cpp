#include <formats/text/pickle.hpp>
#include <penstock/error.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

constexpr int kDeepest = 20;  // a value may contain itself

void visit(const PickleValue& value, int& left, int depth = 0) {
  if (--left < 0 || depth > kDeepest) return;
  value.integer();
  value.real();
  value.text();
  const bool list = value.kind() == PickleValue::Kind::list;
  for (std::uint64_t i = 0; i < value.size() && left > 0; ++i) {
    visit(list ? value.at(i) : value.key(i), left, depth + 1);
    if (!list) visit(value.value(i), left, depth + 1);
  }
  if (value.kind() != PickleValue::Kind::array) return;
  std::uint64_t count = 1;
  for (const std::uint64_t size : value.array().shape) count *= size;
  for (std::uint64_t i = 0; i < count && --left > 0; ++i) element_at(value.array(), i);
}

}  // namespace

void pickle(Input input) {
  const Pickle parsed(input);
  int left = 10'000;
  visit(parsed.root(), left);
}

}  // namespace penstock::fuzz
