#include <utility>

#include <base/caught.hpp>
#include <base/leak_until_exit.hpp>
#include <formats/io/crc32c.hpp>
#include <loader/serving/source.hpp>
#include <loader/sharing/notes.hpp>
#include <loader/sharing/wire.hpp>
#include <penstock/error.hpp>
#include <storage/read/read_engine.hpp>

namespace penstock::serving {
namespace {

std::shared_ptr<Pipeline> pipeline_of(const Dataset& dataset, const Recipe& recipe, unsigned workers) {
  LoaderOptions options = recipe.options();
  options.workers = workers;
  auto pipeline = std::make_shared<Pipeline>(dataset, std::move(options), choose_engine);
  if (pipeline->version() != recipe.version) {
    throw Error::invalid_argument("the server makes other rows: it has " + pipeline->version() + ", the loader has " +
                                  recipe.version);
  }
  return pipeline;
}

}  // namespace

Source::Source(const Dataset& dataset, const Recipe& recipe, unsigned workers, std::function<void(Made)> made)
    : made_(std::move(made)), pipeline_(pipeline_of(dataset, recipe, workers)) {
  try {
    Pipeline::start_asked(pipeline_, asked_);
    thread_ = Thread("penstock-give", [this](const std::stop_token&) {
      caught([&] { run(); });
      ended_ = true;
    });
  } catch (...) {
    if (!pipeline_->stop()) leak_until_exit(pipeline_);
    throw;
  }
}

Source::~Source() {
  if (!pipeline_->stop()) leak_until_exit(pipeline_);
  thread_.join();
}

void Source::ask(std::uint64_t client, Ask ask) {
  const std::scoped_lock lock(mutex_);
  waiting_.push_back({.client = client, .ask = ask.number});
  asked_->push(std::move(ask.rows));
}

void Source::run() {
  while (std::optional<BatchResult> result = pipeline_->take_asked()) {
    Made made;
    {
      const std::scoped_lock lock(mutex_);
      made = std::move(waiting_.front());
      waiting_.pop_front();
    }
    if (result->failure == nullptr && result->bad.empty()) {
      sharing::WireWriter note;
      sharing::write(note, *result->batch.slab(), [](const Field&) { return sharing::ValuePlace{}; });
      made.note = note.take();
      made.crc32c = crc32c(std::as_bytes(std::span(made.note)));
      for (const Field& field : result->batch.fields())
        made.crc32c = crc32c({field.values.data, static_cast<std::size_t>(field.values.bytes())}, made.crc32c);
      made.batch = std::move(result->batch);
    }
    made_(std::move(made));
  }
}

}  // namespace penstock::serving
