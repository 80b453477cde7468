#include "batch_dict.hpp"

#include <utility>

#include <loader/batch/batch_record.hpp>

#include "bind.hpp"
#include "tensor.hpp"

namespace penstock::python {
namespace {

// Copies values this small. Otherwise a label that a program keeps would hold the whole slab, with the images in it.
constexpr std::uint64_t kCopiedRowBytes = 256;

Tensor handed_out(const Batch& batch, Tensor values) {
  const bool small = values.bytes() <= kCopiedRowBytes * batch.size();
  return small && values.use() == nullptr ? values.copy() : values;
}

Tensor of_host(const Batch& batch, const void* data, DType dtype, std::size_t size) {
  return Tensor(batch.slab(), data, dtype, {static_cast<std::int64_t>(size)}).copy();
}

nb::object column(const Batch& batch, const Field& field) {
  const TensorView& view = field.values;
  Tensor values = handed_out(batch, Tensor(batch.slab(), view.data, view.dtype, view.shape, batch.slab()->use));
  if (field.offsets.empty()) return nb::cast(std::move(values));
  Ragged ragged{std::move(values), of_host(batch, field.offsets.data(), DType::i64, field.offsets.size())};
  if (!field.shapes.empty()) {
    const std::size_t rows = field.offsets.size() - 1, dimensions = field.shapes.size() / rows;
    ragged.shapes = of_host(batch, field.shapes.data(), DType::i64, field.shapes.size())
                        .reshaped({static_cast<std::int64_t>(rows), static_cast<std::int64_t>(dimensions)});
  }
  return nb::cast(std::move(ragged));
}

}  // namespace

nb::dict batch_dict(const Batch& batch) {
  nb::dict columns = nb::cast<nb::dict>(nb::module_::import_("penstock._batch").attr("Batch")());
  for (const Field& field : batch.fields()) columns[text(field.name)] = column(batch, field);
  nb::list keys;
  for (const std::string_view key : batch.keys()) keys.append(text(key));
  columns["__key__"] = keys;
  columns["__valid__"] = of_host(batch, batch.valid().data(), DType::boolean, batch.size());
  nb::dict present;
  for (const PresentRows& marks : batch.slab()->present)
    present[text(batch.fields()[marks.output].name)] =
        of_host(batch, marks.rows.data(), DType::boolean, marks.rows.size());
  if (present.size() != 0) columns["__present__"] = present;
  if (!batch.sources().empty())
    columns["__source__"] = of_host(batch, batch.sources().data(), DType::i64, batch.size());
  return columns;
}

}  // namespace penstock::python
