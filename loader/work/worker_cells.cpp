// The worker's part in batches with windows. A sample fills several places of a batch (a cell), and each row has
// steps from several samples.
//
// Invariants: a failed place is only noted while cells are in work, because other workers may still write other steps
// of the same row. mend_rows() runs once all cells are done, and marks or replaces each broken row once, as a whole.
// Its first broken place decides the reported error, so that the result does not depend on timing.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <base/caught.hpp>
#include <loader/fetch/cells.hpp>
#include <loader/work/worker.hpp>
#include <penstock/error.hpp>
#include <transforms/output.hpp>

namespace penstock {

void Worker::run_cell(BatchBuilder& builder, std::uint32_t number, RowTask* ahead, std::uint32_t index) {
  builder.set_state(number, BatchBuilder::RowState::decoding);
  const FillTimes fill = filler_.fill_times();
  const RowTime before{
      .begin = Clock::now(), .read = filler_.read_time(), .decode = fill.decode, .transform = fill.transform};
  const std::uint64_t asked = filler_.asked_bytes();
  const Cell& cell = builder.cells[number];
  const SampleContext sample = context_of_cell(builder, number);
  auto failure = caught([&] {
    slots_.of_places(builder, context_.from.program.outputs(), builder.places_of(cell));
    if (ahead != nullptr && ahead->failures[index] == nullptr) {
      filler_.bring_ahead(sample, *ahead, index);
    } else {
      if (ahead != nullptr) filler_.require_another_try(sample, *ahead, index);
      filler_.bring(sample, slots_);
    }
  });
  fill_cell(builder, cell, std::move(failure));
  builder.add_read(filler_.asked_bytes() - asked);
  if (record_ != nullptr) record_row(before, sample);
}

// `failure` is that of fetching the bytes. Outputs with random draws are filled for each place, other outputs once
// for each window and then copied.
void Worker::fill_cell(BatchBuilder& builder, const Cell& cell, std::exception_ptr failure) {
  const std::span<const Output> outputs = context_.from.program.outputs();
  const std::span<const CellPlace> places = builder.places_of(cell);
  const bool brought = failure == nullptr;
  // The missing field may belong to only one of the windows: try each place separately.
  if (!brought && places.front().window != places.back().window) {
    for (const CellPlace& place : places) {
      if (auto own = fill_alone(builder, cell, place)) fail_place(builder, cell, place, own);
    }
    return;
  }
  bool others = false;  // the filler has fetched another place's bytes since
  const CellPlace* first = nullptr;
  for (const CellPlace& place : places) {
    const bool begins = first == nullptr || first->window != place.window;
    if (begins) first = &place;
    const SampleContext sample = context_of_place(builder, cell, place);
    if (begins && brought) {
      failure = caught([&] {
        if (std::exchange(others, false)) filler_.bring(sample, slots_);
        filler_.fill_place(sample, place.window, slots_);
      });
    } else if (brought && failure == nullptr) {
      failure = caught([&] {
        other_slots_.of_places(builder, outputs, {&place, 1});
        filler_.fill_again(sample, place.window, slots_, other_slots_);
      });
      if (failure != nullptr) {
        fail_place(builder, cell, place, std::exchange(failure, nullptr));
        continue;
      }
    } else if (brought && std::ranges::any_of(outputs, [&](const Output& output) {
                 return output.window == place.window && output.drawn;
               })) {  // one crop of a broken image may be valid although another failed
      others = true;
      if (auto own = fill_alone(builder, cell, place)) fail_place(builder, cell, place, own);
      continue;
    }
    if (failure != nullptr) fail_place(builder, cell, place, failure);
  }
}

std::exception_ptr Worker::fill_alone(BatchBuilder& builder, const Cell& cell, const CellPlace& place) {
  return caught([&] {
    RowSlots& slots = other_slots_;
    slots.of_places(builder, context_.from.program.outputs(), {&place, 1});
    const SampleContext sample = context_of_place(builder, cell, place);
    filler_.bring(sample, slots);
    filler_.fill_place(sample, place.window, slots);
  });
}

void Worker::fail_place(BatchBuilder& builder, const Cell& cell, const CellPlace& place,
                        const std::exception_ptr& failure) {
  const auto where = [&] {
    return ErrorContext{.dataset = context_.from.dataset.path().string(), .key = std::string(cell.key)};
  };
  auto failed = caught([&] {
    try {
      std::rethrow_exception(failure);
    } catch (const Error& error) {
      if (context_.options.on_error == OnError::raise || !error.is_data_fault()) throw;
      builder.add_broken({place, cell.sample, error});
    }
  });
  if (failed != nullptr) builder.fail(place.row, explained(std::move(failed), where));
}

void Worker::fill_whole_row(BatchBuilder& builder, std::uint32_t row) {
  std::vector<Cell> cells;
  std::vector<CellPlace> places;
  plan_row(builder, row, context_.from.program.outputs(), *context_.options.windows, context_.from.dataset, cells,
           places);
  for (const Cell& cell : cells) {
    if (auto failure = fill_alone(builder, cell, places[cell.first])) std::rethrow_exception(failure);
  }
}

// Marks or replaces rows with an invalid step as a whole.
void Worker::mend_rows(BatchBuilder& builder) {
  for (const BrokenRow& broken : builder.take_broken()) {
    const std::uint32_t row = broken.place.row;
    if (auto failure = caught([&] { fall_short(builder, row, broken.sample, broken.error); }))
      fail_row(builder, row, failure);
  }
}

}  // namespace penstock
