#include <algorithm>

#include <formats/tfrecord/example.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {

void example(Input input) {
  std::vector<ExampleFeature> features;
  if (!parse_example(input, features)) return;
  const auto inside = [input](Input part) {
    return part.empty() || (part.data() >= input.data() && part.data() + part.size() <= input.data() + input.size());
  };
  for (const ExampleFeature& feature : features) {
    require(inside(feature.list) && inside(feature.first), "a feature outside its record");
    if (feature.kind == ExampleFeature::Kind::floats) {
      require(float_values(feature).size() == feature.count, "another number of floats than counted");
    }
    if (feature.kind == ExampleFeature::Kind::ints) {
      require(int_values(feature).size() == feature.count, "another number of ints than counted");
    }
  }
}

}  // namespace penstock::fuzz
