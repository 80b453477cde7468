#include "batch_dict.hpp"

#include <utility>

#include <penstock/loader/batch_record.hpp>

#include "bind.hpp"
#include "tensor.hpp"

namespace penstock::python {
namespace {

nb::object column(const Batch& batch, const Field& field) {
  Tensor values(batch.slab(), field.values.data, field.values.dtype, field.values.shape, batch.slab()->use);
  if (field.offsets.empty()) return nb::cast(std::move(values));
  Tensor offsets(batch.slab(), field.offsets.data(), DType::i64, {static_cast<std::int64_t>(field.offsets.size())});
  return nb::cast(Ragged{std::move(values), std::move(offsets)});
}

}  // namespace

nb::dict batch_dict(const Batch& batch) {
  nb::dict columns;
  for (const Field& field : batch.fields()) columns[text(field.name)] = column(batch, field);
  nb::list keys;
  for (const std::string_view key : batch.keys()) keys.append(text(key));
  columns["__key__"] = keys;
  columns["__valid__"] =
      Tensor(batch.slab(), batch.valid().data(), DType::boolean, {static_cast<std::int64_t>(batch.size())});
  return columns;
}

}  // namespace penstock::python
