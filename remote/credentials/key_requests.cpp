#include <memory>

#include <penstock/error.hpp>
#include <remote/credentials/key_requests.hpp>
#include <remote/http/dialect.hpp>
#include <remote/sign/percent.hpp>

namespace penstock {
namespace {

// Plain HTTP: the caller interprets the answers.
class KeyDialect : public Dialect {
 public:
  bool speaks(std::string_view) const override { return false; }
  HttpRequest find(const std::string&) override { return {}; }
  HttpRequest read_whole(const std::string&) override { return {}; }
  HttpRequest read_range(const StoredObject&, std::uint64_t, std::uint64_t) override { return {}; }
  Meaning meaning(const HttpResponse& response) const override {
    return response.status >= 500 || response.status == 429 ? Meaning::again : Meaning::refused;
  }
  std::string reason(const HttpResponse&) const override { return {}; }  // bodies may contain the credentials
};

}  // namespace

KeyRequest key_requests(Transport& transport) {
  const auto dialect = std::make_shared<KeyDialect>();
  return [&transport, dialect](const std::string& name, const HttpRequest& request, std::chrono::milliseconds deadline,
                               unsigned attempts) {
    return transport.send({.dialect = *dialect,
                           .address = name,
                           .prepare = [&] { return request; },
                           .most_bytes = 1 << 20,
                           .deadline = deadline,
                           .attempts = attempts});
  };
}

std::string form_of(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string form;
  for (const auto& [name, value] : fields)
    form += (form.empty() ? "" : "&") + percent_encoded(name) + "=" + percent_encoded(value);
  return form;
}

}  // namespace penstock
