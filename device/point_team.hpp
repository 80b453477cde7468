// Runs a point pass over one cloud with a team of threads: a CUDA block, or one CPU thread. All of them run the same
// code, and add sums in the same order as chains on the host. Therefore the bytes are equal.
#pragma once

#include <cmath>
#include <cstdint>

#include <device/pass_math.hpp>
#include <device/passes.hpp>

#ifdef __CUDACC__
#define PENSTOCK_TEAM __device__ inline
#else
#define PENSTOCK_TEAM inline
#endif

namespace penstock::point_team {

constexpr unsigned kAxes = 3;
constexpr unsigned kLanes = 8;  // number of partial sums on the host, transforms/clouds/steps/point_steps.cpp

/// Memory that the threads of a team share, besides the cloud.
struct Shared {
  double lanes[kAxes * kLanes];
  float values[9];
};

// A Team provides: rank() and size(), with threads counted from 0; sync(), a barrier after which all writes are
// visible; shared(); largest(float), the maximum over all threads of values of 0 or more; and before(bool, total), the
// number of threads before this one that passed true, with the number of all such threads in `total`.

/// The rows of a cloud in working memory.
struct Rows {
  float* data;
  std::int64_t count;
  std::int32_t columns;
  PENSTOCK_TEAM float* at(std::int64_t row) const { return data + row * columns; }
};

struct RowRange {
  std::int64_t begin, count;  // in the rows of all clouds
};

PENSTOCK_TEAM RowRange rows_of(const PointPass& pass, std::int64_t cloud) {
  if (pass.begins == nullptr) return {cloud * pass.points, pass.points};
  return {pass.begins[cloud], pass.begins[cloud + 1] - pass.begins[cloud]};
}

template <typename Team>
PENSTOCK_TEAM void gather(const Team& team, const PointPass& pass, std::int64_t cloud, const RowRange& range,
                          const Rows& rows) {
  const bool in_place = pass.numbers == nullptr && pass.in == pass.work;
  for (std::int64_t i = team.rank(); i < rows.count && !in_place; i += team.size()) {
    const std::int64_t from =
        pass.numbers != nullptr ? cloud * pass.in_points + pass.numbers[range.begin + i] : range.begin + i;
    for (std::int32_t c = 0; c < rows.columns; ++c) rows.at(i)[c] = pass.in[from * rows.columns + c];
  }
}

template <typename Team>
PENSTOCK_TEAM void multiply(const Team& team, const Rows& rows, float factor) {
  for (std::int64_t i = team.rank(); i < rows.count; i += team.size()) {
    for (unsigned axis = 0; axis < kAxes; ++axis) rows.at(i)[axis] *= factor;
  }
}

template <typename Team>
PENSTOCK_TEAM void add(const Team& team, const Rows& rows, const float* offsets) {
  for (std::int64_t i = team.rank(); i < rows.count; i += team.size()) {
    for (unsigned axis = 0; axis < kAxes; ++axis) rows.at(i)[axis] += offsets[axis];
  }
}

template <typename Team>
PENSTOCK_TEAM void center(Team& team, const Rows& rows) {
  const std::int64_t whole = rows.count - rows.count % kLanes;
  for (unsigned k = team.rank(); k < kAxes * kLanes; k += team.size()) {
    const unsigned axis = k / kLanes;
    double sum = 0;
    for (std::int64_t i = k % kLanes; i < whole; i += kLanes) sum += static_cast<double>(rows.at(i)[axis]);
    team.shared().lanes[k] = sum;
  }
  team.sync();
  for (unsigned axis = team.rank(); axis < kAxes; axis += team.size()) {
    double total = 0;
    for (std::int64_t i = whole; i < rows.count; ++i) total += static_cast<double>(rows.at(i)[axis]);
    for (unsigned lane = 0; lane < kLanes; ++lane) total += team.shared().lanes[axis * kLanes + lane];
    team.shared().values[axis] = static_cast<float>(-(total / static_cast<double>(rows.count)));
  }
  team.sync();
  add(team, rows, team.shared().values);
}

template <typename Team>
PENSTOCK_TEAM void unit_sphere(Team& team, const Rows& rows) {
  float square = 0;
  for (std::int64_t i = team.rank(); i < rows.count; i += team.size()) {
    const float found = pass_math::square_of_length(rows.at(i));
    square = found > square ? found : square;
  }
  const float longest = sqrtf(team.largest(square));
  if (longest > 0 && longest <= 3.402823466e+38F) multiply(team, rows, 1.0F / longest);
}

template <typename Team>
PENSTOCK_TEAM void rotate(Team& team, const Rows& rows, bool free, std::int32_t normals, pass_math::Draws draws) {
  if (team.rank() == 0) {
    const pass_math::Matrix matrix = free ? pass_math::rotation_of_any_kind(draws) : pass_math::rotation_about_z(draws);
    for (unsigned k = 0; k < 9; ++k) team.shared().values[k] = matrix.m[k];
  }
  team.sync();
  const float* matrix = team.shared().values;
  for (std::int64_t i = team.rank(); i < rows.count; i += team.size()) {
    pass_math::turn(rows.at(i), matrix);
    if (normals != 0) pass_math::turn(rows.at(i) + normals, matrix);
  }
}

// The host takes two normal draws from each pair of uniform draws inside the disc: for points 0 and 1 of x, 2 and 3 of
// x, ..., then for y and z. A pair is one block of the counter. The team therefore tries one block per thread at once,
// and counts the pairs inside the disc. Each point gets the same draws as on the host.
template <typename Team>
PENSTOCK_TEAM void jitter(Team& team, const Rows& rows, double sigma, float clip, pass_math::Draws draws) {
  const std::int64_t of_axis = (rows.count + 1) / 2, wanted = of_axis * kAxes;
  std::uint32_t tried = 0;
  for (std::int64_t done = 0; done < wanted; tried += team.size()) {
    pass_math::Draws mine(draws.key, draws.sample, draws.transform, tried + team.rank());
    const pass_math::DiscDraw draw = pass_math::draw_square(mine);
    unsigned total = 0;
    const std::int64_t pair = done + team.before(draw.inside(), total);
    done += total;
    if (!draw.inside() || pair >= wanted) continue;
    const double factor = pass_math::normal_factor(draw);
    const std::int64_t axis = pair / of_axis, row = 2 * (pair % of_axis);
    rows.at(row)[axis] += pass_math::clamped(static_cast<float>(sigma * (draw.u * factor)), clip);
    if (row + 1 < rows.count) {
      rows.at(row + 1)[axis] += pass_math::clamped(static_cast<float>(sigma * (draw.v * factor)), clip);
    }
  }
}

template <typename Team>
PENSTOCK_TEAM void apply(Team& team, const PointPass& pass, const PointMove& move, std::int64_t cloud,
                         const Rows& rows) {
  pass_math::Draws draws(pass.key, pass.samples != nullptr ? pass.samples[cloud] : 0, move.transform, 0);
  switch (move.kind) {
    case PointMove::Kind::center:
      return center(team, rows);
    case PointMove::Kind::unit_sphere:
      return unit_sphere(team, rows);
    case PointMove::Kind::scale:
      return multiply(team, rows, static_cast<float>(move.low));
    case PointMove::Kind::random_scale:
      return multiply(team, rows, static_cast<float>(draws.uniform(move.low, move.high)));
    case PointMove::Kind::shift: {
      float offsets[kAxes];
      for (float& offset : offsets) offset = static_cast<float>(draws.uniform(-move.low, move.low));
      return add(team, rows, offsets);
    }
    case PointMove::Kind::rotate_about_z:
    case PointMove::Kind::rotate_free:
      return rotate(team, rows, move.kind == PointMove::Kind::rotate_free, pass.normals, draws);
    case PointMove::Kind::jitter:
      return jitter(team, rows, move.low, static_cast<float>(move.high), draws);
  }
}

/// `put(out, element, value)` stores an element in the pass's dtype.
template <typename Team, typename Put>
PENSTOCK_TEAM void write(const Team& team, const PointPass& pass, const RowRange& range, const Rows& rows, Put put) {
  const std::int64_t first = range.begin * rows.columns;
  for (std::int64_t i = team.rank(); i < rows.count; i += team.size()) {
    for (std::int32_t c = 0; c < rows.columns; ++c) {
      put(pass.out, first + (pass.channels_first ? c * rows.count + i : i * rows.columns + c), rows.at(i)[c]);
    }
  }
}

/// Runs the whole pass for one cloud.
template <typename Team, typename Put>
PENSTOCK_TEAM void run(Team& team, const PointPass& pass, std::int64_t cloud, Put put) {
  const RowRange range = rows_of(pass, cloud);
  const Rows rows{pass.work + range.begin * pass.columns, range.count, pass.columns};
  if (rows.count <= 0) return;  // the same for all threads of the team
  gather(team, pass, cloud, range, rows);
  for (std::int32_t m = 0; m < pass.moves; ++m) {
    team.sync();
    apply(team, pass, pass.move[m], cloud, rows);
  }
  team.sync();
  if (pass.out != pass.work) write(team, pass, range, rows, put);
}

}  // namespace penstock::point_team
