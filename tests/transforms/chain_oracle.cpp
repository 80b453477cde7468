// chain_oracle IMAGE CHAIN SAMPLES OUT: runs one of the chains below, or the one whose text CHAIN is, over an image
// file, writes the rows of samples 0 to SAMPLES - 1 to OUT one after the other, and prints a JSON line for each with
// what was drawn, so that another library can be asked for the same.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include <penstock/error.hpp>
#include <transforms/image/passes/placement.hpp>
#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/filled.hpp"

using namespace penstock;

namespace {

const Chain kNormalize = image::normalize({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F});

const std::map<std::string, Chain> kChains{
    {"train", image::random_resized_crop(224) | image::random_horizontal_flip() | kNormalize},
    {"train-pixels", image::random_resized_crop(224) | image::random_horizontal_flip()},
    {"train-wide", image::random_resized_crop(48, 160, {0.08, 1.0}, {0.5, 2.0}) | image::random_horizontal_flip()},
    {"eval", image::resize(256) | image::center_crop(224) | kNormalize},
    {"eval-pixels", image::resize(256) | image::center_crop(224)},
    {"decode", image::decode()},
};

test::Bytes read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  return test::to_bytes(text);
}

void run(const std::filesystem::path& path, const std::string& chain, std::uint64_t samples,
         const std::filesystem::path& destination) {
  test::Fields fields;
  fields.add({.name = "image", .codec = ""}, read(path));
  const std::vector<FieldChain> chains{{"image", kChains.contains(chain) ? kChains.at(chain) : parse_chain(chain)}};
  const Program program(chains, fields.catalog());
  SlotFiller filler(program);
  std::ofstream out(destination, std::ios::binary);
  for (std::uint64_t sample = 0; sample < samples; ++sample) {
    const SampleContext context{.seed = 7, .epoch = 3, .sample = sample};
    const test::Bytes row = test::fill(program, filler, fields, context)[0];
    out.write(reinterpret_cast<const char*>(row.data()), static_cast<std::streamsize>(row.size()));
    const Geometry g = filler.placement(0)->geometry();
    nlohmann::json steps = nlohmann::json::array();
    const FieldBytes field{&fields.schemas[0], fields.values[0]};
    for (const StepOutcome& step : program.explain(0, field, context).outcomes.steps)
      steps.push_back({step.step, step.outcome});
    const nlohmann::json line{{"source", {g.source.width, g.source.height}},
                              {"box", {g.box_x, g.box_y, g.box_width, g.box_height}},
                              {"grid", {g.grid.width, g.grid.height}},
                              {"window", {g.window.x, g.window.y, g.window.width, g.window.height}},
                              {"flip", g.flip},
                              {"steps", steps},
                              {"dtype", name(program.outputs()[0].dtype)},
                              {"shape", program.outputs()[0].shape}};
    std::cout << line << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: chain_oracle IMAGE CHAIN SAMPLES OUT\n";
    return 2;
  }
  try {
    run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argv[4]);
  } catch (const Error& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
