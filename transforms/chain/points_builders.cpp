#include <array>

#include <penstock/transforms/chain/builders.hpp>

namespace penstock::chain_parse {
namespace {

Chain sample(StepArguments& given) {
  points::SampleKeywords keywords;
  const std::int64_t wanted = given.whole(0, "points");
  const std::string method = given.text(1, "method", "random");
  keywords.size = given.real(StepArguments::kByKeyword, "size", keywords.size);
  keywords.voxel = given.text(StepArguments::kByKeyword, "voxel", keywords.voxel);
  keywords.slices = given.whole(StepArguments::kByKeyword, "slices", keywords.slices);
  keywords.blocks = given.whole(StepArguments::kByKeyword, "blocks", keywords.blocks);
  keywords.few = given.text(StepArguments::kByKeyword, "few", keywords.few);
  return points::sample(wanted, method, keywords);
}

Chain decode_points(StepArguments& given) {
  const Argument* attributes = given.find(0, "attributes");
  if (attributes != nullptr && !attributes->list) throw misfit("attributes is to be a list of names");
  return points::decode(attributes == nullptr ? std::vector<std::string>{} : attributes->words,
                        given.whole(1, "columns", 0));
}

constexpr std::array kBuilders{
    Builder{"points.attribute", [](StepArguments& given) { return points::attribute(given.text(0, "name", "")); }},
    Builder{"points.cast", [](StepArguments& given) { return points::cast(given.dtype()); }},
    table_builder<step::Center>(),
    table_builder<step::ChannelsFirst>(),
    Builder{"points.decode", decode_points},
    table_builder<step::Dropout>(),
    table_builder<step::Finite>(),
    table_builder<step::Jitter>(),
    table_builder<step::Mask>(),
    table_builder<step::Origin>(),
    table_builder<step::Pad>(),
    Builder{"points.poisson", [](StepArguments& given) { return points::poisson(given.real(0, "distance", 0)); }},
    table_builder<step::RandomScale>(),
    Builder{"points.rotate", [](StepArguments& given) { return points::rotate(given.text(0, "about", "z")); }},
    Builder{"points.sample", sample},
    table_builder<step::Scale>(),
    table_builder<step::Shift>(),
    table_builder<step::ShufflePoints>(),
    table_builder<step::Surface>(),
    table_builder<step::UnitBox>(),
    table_builder<step::UnitSphere>(),
    Builder{"points.voxel",
            [](StepArguments& given) {
              return points::voxel(given.real(0, "size", 0), given.text(1, "mode", "centroid"));
            }},
};

}  // namespace

std::span<const Builder> points_builders() {
  return kBuilders;
}

}  // namespace penstock::chain_parse
