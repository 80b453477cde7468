#include <penstock/state.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void state(Input input) {
  const LoaderState read = LoaderState::from_json(text_of(input));
  require(LoaderState::from_json(read.to_json()) == read, "a state that is another one when written and read");
}

}  // namespace penstock::fuzz
