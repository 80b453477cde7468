// The messages of shared batches and of servers, as both ends read them: frames, and the bodies of every kind.
#include <string>
#include <vector>

#include <loader/asking/handshake.hpp>
#include <loader/asking/request.hpp>
#include <loader/sharing/notes.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/error.hpp>
#include <transforms/output.hpp>

#include "fuzz/targets.hpp"

namespace penstock::fuzz {
namespace {

using namespace sharing;

const std::vector<Output>& outputs() {
  static const std::vector<Output> two{{.name = "npy", .sources = {}, .dtype = DType::f32, .shape = {3}},
                                       {.name = "txt", .sources = {}, .dtype = DType::u8, .shape = {}, .ragged = true}};
  return two;
}

void read_body(const Frame& frame) {
  WireReader from(frame.body);
  switch (frame.kind) {
    case Kind::hello:
      return static_cast<void>(Hello::of(frame.body));
    case Kind::ask:
      from.number();
      return require(key_of(read_position(from)) == frame.body.substr(8, frame.body.size() - 8) || !from.done(),
                     "a position that is another one when read and written");
    case Kind::challenge:
      return static_cast<void>(asking::Challenge::of(frame.body));
    case Kind::request: {
      const asking::Recipe recipe = asking::Recipe::parse(asking::Request::of(frame.body).text);
      return require(asking::Recipe::parse(recipe.text()).text() == recipe.text(),
                     "a recipe that changes when written");
    }
    case Kind::rows: {
      constexpr std::uint32_t kRows = 4;
      for (const Row& row : asking::read_ask(from, kRows, kRows).rows.rows)
        require(row.sample < kRows, "a sample that the dataset lacks");
      return;
    }
    case Kind::values:
    case Kind::batch: {
      if (frame.kind == Kind::values)
        asking::read_values_head(from);
      else
        read_handed(from);
      NotedBatch batch;
      read_batch(from, outputs(), 4, {}, batch);
      for (const Field& field : batch.fields)
        require(field.offsets.empty() || field.offsets.back() <= field.values.shape.front(), "rows beyond the values");
      return;
    }
    default:
      from.number();
  }
}

}  // namespace

void messages(Input input) {
  Connection connection{UnforkedDescriptor()};
  connection.take(text_of(input));
  while (const auto frame = connection.next()) {
    try {
      read_body(*frame);
    } catch (const Error&) {  // the real ends close the connection; here the next frame is read, too
    }
  }
}

}  // namespace penstock::fuzz
