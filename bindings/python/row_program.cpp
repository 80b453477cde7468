#include "row_program.hpp"

#include <array>
#include <utility>
#include <vector>

#include <penstock/base/error.hpp>

namespace penstock::python {
namespace {

// A step that draws nothing and stands in the function's own place, so that all others keep theirs.
Chain begun_as(bool image, const Chain& chain) {
  return image ? image::decode() | chain : chain;
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
                       const Shape& shape, bool image)
    : schema_{.name = output, .codec = "raw", .dtype = dtype, .shape = shape, .fixed = true},
      chain_(begun_as(image, chain)),
      program_(compiled(output, chain_, schema_, place - (image ? 1 : 0))),
      filler_(program_) {
  if (this->output().ragged)
    throw Error::invalid_argument("output \"" + output + "\" = " + to_string(chain) +
                                  ": what stands behind a function in Python must give rows of one length");
}

void RowProgram::run(std::span<const std::byte> value, std::span<std::byte> row, const SampleContext& sample) {
  const std::scoped_lock lock(mutex_);
  filler_.begin(sample);
  filler_.fill(0, {.schema = &schema_, .bytes = value}, row);
}

}  // namespace penstock::python
