#include "row_program.hpp"

#include <array>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>

namespace penstock::python {
namespace {

// Begins with a step that draws nothing and stands in the function's own place, so that all others keep theirs.
Chain begun_as(RowProgram::Kind kind, const Chain& chain) {
  const bool begun = !chain.steps.empty() && chain.steps.front().is<step::Elements>();
  if (kind == RowProgram::Kind::image) return image::decode() | chain;
  if (kind == RowProgram::Kind::items && !begun) return array::decode({.ragged = true}) | chain;
  return chain;
}

Program compiled(const std::string& output, const Chain& chain, const FieldSchema& schema, std::size_t place) {
  const std::array<FieldChain, 1> chains{FieldChain{output, chain}};
  const std::vector<std::byte> zeros(element_count(schema.shape) * size_of(schema.dtype));
  const FieldCatalog catalog{.fields = {&schema, 1},
                             .first_value = [&](std::uint32_t, const Codec*) { return FirstBytes(zeros); }};
  return Program(chains, catalog, place);
}

}  // namespace

RowProgram::RowProgram(const std::string& output, const Chain& chain, std::size_t place, DType dtype,
                       const Shape& shape, Kind kind)
    : schema_{.name = output, .codec = "raw", .dtype = dtype, .shape = shape, .fixed = true},
      chain_(begun_as(kind, chain)),
      program_(compiled(output, chain_, schema_, place - (chain_.steps.size() - chain.steps.size()))),
      filler_(program_) {
  if (this->output().ragged && kind != Kind::items)
    throw Error::invalid_argument("output \"" + output + "\" = " + to_string(chain) +
                                  ": what stands behind a function in Python must give rows of one length");
}

Shape RowProgram::row_shape() const {
  Shape shape = output().shape;
  if (output().ragged) shape.insert(shape.begin(), schema_.shape.front());
  return shape;
}

void RowProgram::run(std::span<const std::byte> value, std::span<std::byte> row, const SampleContext& sample) {
  const std::scoped_lock lock(mutex_);
  filler_.begin(sample);
  filler_.fill(0, {.schema = &schema_, .bytes = value}, row);
}

}  // namespace penstock::python
