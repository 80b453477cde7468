#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <formats/index/shared_rows.hpp>
#include <penstock/error.hpp>

using namespace penstock;

namespace {

ColumnSize column(const std::string& name, const Shape& shape, std::uint64_t element = 1) {
  const Shape row(shape.begin() + 1, shape.end());
  const auto rows = static_cast<std::uint64_t>(shape.front());
  return {.name = name, .rows = rows, .row = row, .bytes = rows * element_count(row) * element, .numbers = true};
}

std::string refusal(const std::vector<ColumnSize>& columns) {
  try {
    return "decided: " + std::to_string(shared_rows(columns, "do that"));
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::unsupported);
    return error.cause();
  }
}

}  // namespace

TEST_CASE("statistics, axes and tables of images do not outvote the images") {
  const ColumnSize images = column("images", {20, 8, 6, 3}), labels = column("labels", {20}, 8);
  const std::vector<std::vector<ColumnSize>> others{
      {},
      {column("mean", {3}, 8), column("std", {3}, 8), column("size", {3}, 8)},
      {column("mean", {8, 6, 3}), column("std", {8, 6, 3})},
      {column("mean", {3, 1, 1}, 8), column("std", {3, 1, 1}, 8), column("min", {1, 3}), column("max", {1, 3})},
      {column("shape", {4}, 8), column("shape of rows", {3}, 8), column("seed", {1}, 8)},
      {column("latitude", {8}, 8), column("longitude", {6}, 8), column("mask", {8, 6})},
      {column("eigenvalues", {3}, 8), column("eigenvectors", {3, 3}, 8), column("mean", {3}, 8)},
      {column("anchors", {9, 4}, 8), column("empty", {0, 4}, 8)},
  };
  for (std::size_t i = 0; i < others.size(); ++i) {
    CAPTURE(i);
    std::vector<ColumnSize> columns = others[i];
    columns.push_back(images);
    columns.push_back(labels);
    CHECK(shared_rows(columns, "") == 20);
    std::reverse(columns.begin(), columns.end());
    CHECK(shared_rows(columns, "") == 20);
  }
  CHECK(shared_rows({}, "") == 0);
  CHECK(shared_rows(std::vector{images, column("mean", {3}), column("std", {3})}, "") == 20);
}

TEST_CASE("columns that agree decide, whatever else they could describe") {
  CHECK(shared_rows(std::vector{column("images", {3, 8, 8, 3}), column("mean", {3}), column("std", {3})}, "") == 3);
  CHECK(shared_rows(std::vector{column("image", {1, 8, 8, 3}), column("mean", {3}), column("std", {3})}, "") == 1);
}

TEST_CASE("a single sample, or none, is not outvoted by what describes it") {
  CHECK(shared_rows(std::vector{column("images", {1, 8, 8, 3}), column("labels", {1}), column("mean", {3}, 8)}, "") ==
        1);
  CHECK(refusal({column("images", {0, 8, 8, 3}), column("labels", {0}), column("mean", {3}, 8)})
            .starts_with("its columns have different numbers of rows"));
}

TEST_CASE("a training split decides where it has the larger number of rows") {
  const std::vector<std::vector<std::string>> names{{"x_train", "y_train", "x_test", "y_test"},
                                                    {"X_train", "Y_train", "X_test", "Y_test"},
                                                    {"train_images", "train_labels", "val_images", "val_labels"},
                                                    {"trainX", "trainY", "testX", "testY"},
                                                    {"train/x", "train/y", "test/x", "test/y"}};
  for (const std::vector<std::string>& name : names) {
    CAPTURE(name[0]);
    const auto split = [&](std::int64_t train, std::int64_t test) {
      return std::vector{column(name[0], {train, 8, 8}), column(name[1], {train}), column(name[2], {test, 8, 8}),
                         column(name[3], {test})};
    };
    CHECK(shared_rows(split(6, 5), "") == 6);
    CHECK(refusal(split(5, 6)).find("6 rows: " + name[2] + ", " + name[3] + "; 5 rows: ") != std::string::npos);
  }
}

TEST_CASE("without evidence the numbers of rows are an error that lists them with their columns") {
  CHECK(refusal({column("a", {10, 20}, 4), column("b", {30, 20}, 4)}) ==
        "its columns have different numbers of rows, so it is unclear which rows are the samples (30 rows: b; 10 rows: "
        "a): "
        "do that, or open with rows= (the command: --source-rows) and the name of one of these columns");
  CHECK(refusal({column("image", {200, 400}), column("palette", {256, 3})})
            .starts_with("its columns have different numbers of rows"));
  // Most columns, but hardly any of the bytes.
  CHECK(refusal({column("depth", {20, 32, 32}), column("K", {4, 4}), column("a", {4}), column("b", {4})})
            .starts_with("its columns have different numbers of rows"));
  std::vector<ColumnSize> many;
  for (std::int64_t rows = 2; rows < 40; ++rows) many.push_back(column("c" + std::to_string(rows), {rows, 2}));
  CHECK(refusal(many).find("; ...)") != std::string::npos);
}
