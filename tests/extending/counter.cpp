// Uses the counter of docs/extending.md: it adds up, and goes back to zero.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>

#include <penstock/stats.hpp>

namespace {

void require(bool fits, const std::string& what) {
  if (fits) return;
  std::cerr << "counter: " << what << "\n";
  std::exit(1);
}

}  // namespace

int main() {
  const auto found = std::ranges::find(penstock::counters(), "grey_images", &penstock::Counter::name);
  require(found != penstock::counters().end(), "it is not in the table");
  penstock::Counts some, more;
  some.grey_images = 2;
  more.grey_images = 3;
  penstock::add(some, more);
  require(found->get(some) == 5, "it does not add up");
  penstock::subtract(some, more);
  require(found->get(some) == 2, "it is not set back");
}
