#include <algorithm>
#include <tuple>
#include <vector>

#include <loader/fetch/cells.hpp>

namespace penstock {
namespace {

/// How the outputs use the cells of one window.
struct WindowUse {
  bool used = false;
  bool apart = false;                 ///< the bytes to read of a sample depend on the row
  std::vector<std::uint32_t> inside;  ///< the outputs of window_valid(), which say which steps are in the group
};

std::vector<WindowUse> uses_of(std::span<const Output> outputs) {
  std::vector<WindowUse> uses(1);
  for (std::uint32_t i = 0; i < outputs.size(); ++i) {
    const Output& output = outputs[i];
    if (output.window >= uses.size()) uses.resize(output.window + std::size_t{1});
    WindowUse& use = uses[output.window];
    if (output.inside) {
      use.inside.push_back(i);
      continue;
    }
    use.used = true;
    use.apart |= output.window != 0 && output.partial && output.drawn;
  }
  return uses;
}

struct Planned {
  std::uint64_t sample;
  CellPlace place;
  bool apart;
};

// Calls `add` with each place of a row, and writes the values of window_valid().
template <typename Add>
void each_place(BatchBuilder& builder, std::uint32_t row, std::span<const WindowUse> uses, const Windows& windows,
                std::vector<WindowStep>& steps, const Add& add) {
  Slab& slab = builder.slab();
  if (uses[0].used) add(Planned{slab.samples[row], {0, row, 0}, false});
  for (std::uint32_t window = 1; window < uses.size(); ++window) {
    windows.tables[window - 1]->steps(slab.samples[row], steps);
    for (std::uint32_t step = 0; step < steps.size(); ++step) {
      if (uses[window].used) add(Planned{steps[step].sample, {window, row, step}, uses[window].apart});
      for (const std::uint32_t output : uses[window].inside)
        slab.row(output, row)[step] = steps[step].inside ? std::byte{1} : std::byte{0};
    }
  }
}

}  // namespace

void plan_cells(BatchBuilder& builder, std::span<const Output> outputs, const Windows& windows,
                const Dataset& dataset) {
  const std::vector<WindowUse> uses = uses_of(outputs);
  std::vector<Planned> planned;
  std::vector<WindowStep> steps;
  for (std::uint32_t row = 0; row < builder.slab().rows; ++row)
    each_place(builder, row, uses, windows, steps, [&](const Planned& place) { planned.push_back(place); });
  std::ranges::sort(planned, {}, [](const Planned& each) {
    return std::tuple(each.sample, each.apart, each.place.window, each.place.row, each.place.step);
  });
  builder.places.clear();
  const auto goes_on = [](const Planned& before, const Planned& next) {
    const bool two_rows = next.place.window == 0;  // if a cell has a place in a row, it is the first of its places
    return before.sample == next.sample && !before.apart && !next.apart && !two_rows;
  };
  for (std::size_t i = 0; i < planned.size(); ++i) {
    if (i == 0 || !goes_on(planned[i - 1], planned[i])) {
      const std::uint64_t sample = planned[i].sample;
      builder.cells.push_back({sample, dataset.key(sample), static_cast<std::uint32_t>(i), 0});
    }
    ++builder.cells.back().count;
    builder.places.push_back(planned[i].place);
  }
  // Restores row order, so that the bytes of the first rows are read first.
  std::ranges::stable_sort(builder.cells, {}, [&](const Cell& cell) {
    std::uint32_t first = builder.places[cell.first].row;
    for (const CellPlace& place : builder.places_of(cell)) first = std::min(first, place.row);
    return first;
  });
}

void plan_row(BatchBuilder& builder, std::uint32_t row, std::span<const Output> outputs, const Windows& windows,
              const Dataset& dataset, std::vector<Cell>& cells, std::vector<CellPlace>& places) {
  const std::vector<WindowUse> uses = uses_of(outputs);
  std::vector<WindowStep> steps;
  cells.clear();
  places.clear();
  each_place(builder, row, uses, windows, steps, [&](const Planned& place) {
    cells.push_back({place.sample, dataset.key(place.sample), static_cast<std::uint32_t>(places.size()), 1});
    places.push_back(place.place);
  });
}

SampleContext context_of_place(const BatchBuilder& builder, const Cell& cell, const CellPlace& place) {
  SampleContext sample = builder.slab().context(place.row);
  if (place.window == 0) return sample;
  sample.row_of = sample.sample;
  sample.sample = cell.sample;
  sample.key = cell.key;
  return sample;
}

SampleContext context_of_cell(const BatchBuilder& builder, std::uint32_t number) {
  const Cell& cell = builder.cells[number];
  return context_of_place(builder, cell, builder.places[cell.first]);
}

}  // namespace penstock
