#include <array>

#include <penstock/transforms/chain/builders.hpp>

namespace penstock::chain_parse {
namespace {

constexpr std::array kBuilders{
    Builder{"array.cast", [](StepArguments& given) { return array::cast(given.dtype()); }},
    Builder{"array.decode", [](StepArguments&) { return array::decode(); }},
    Builder{"array.random_window", [](StepArguments& given) { return array::random_window(given.whole(0, "rows")); }},
    Builder{"boxes", [](StepArguments&) { return boxes(); }},
    Builder{"cast", [](StepArguments& given) { return array::cast(given.dtype()); }},
    Builder{"key_points", [](StepArguments&) { return key_points(); }},
    Builder{"label", [](StepArguments& given) { return label(given.whole(0, "classes", 0)); }},
    Builder{"raw", [](StepArguments&) { return raw(); }},
};

}  // namespace

std::span<const Builder> common_builders() {
  return kBuilders;
}

}  // namespace penstock::chain_parse
