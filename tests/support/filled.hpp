// Runs a program on values held in memory, as a loader would: compile, then fill each output of a sample in order.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <transforms/output.hpp>
#include <transforms/program/program.hpp>

#include "support/encoded.hpp"

namespace penstock::test {

/// A dataset of one field per entry; `values` are those of sample 0.
struct Fields {
  std::vector<FieldSchema> schemas;
  std::vector<Bytes> values;

  void add(FieldSchema schema, Bytes value) {
    schemas.push_back(std::move(schema));
    values.push_back(std::move(value));
  }
  FieldCatalog catalog() const {
    return {schemas, [this](std::uint32_t field, const Codec*) { return values.at(field); }};
  }
};

/// One sample's rows, by output number.
inline std::vector<Bytes> fill(const Program& program, SlotFiller& filler, const Fields& fields,
                               const SampleContext& sample) {
  std::vector<Bytes> rows(program.outputs().size());
  filler.begin(sample);
  for (const std::uint32_t number : program.order()) {
    const Output& output = program.outputs()[number];
    const std::uint32_t source = output.sources.front();
    const FieldBytes field{&fields.schemas[source], fields.values[source]};
    const std::uint64_t items = output.ragged ? filler.items(number, field) : 1;
    rows[number].resize(items * output.row_bytes(), std::byte{0xEE});
    filler.fill(number, field, rows[number]);
  }
  return rows;
}

inline std::vector<Bytes> fill(const Program& program, const Fields& fields, const SampleContext& sample = {}) {
  SlotFiller filler(program);
  return fill(program, filler, fields, sample);
}

template <typename T>
std::vector<T> elements(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

}  // namespace penstock::test
