#include <algorithm>
#include <optional>

#include <formats/json_member.hpp>
#include <penstock/error.hpp>
#include <transforms/program/compile.hpp>

namespace penstock {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

/// A member of the JSON objects in a field, which the chain reads like a field.
struct MemberField {
  std::string field, member;
  FieldSchema schema;
};

/// Hands the member's text to the runner of its chain. items() keeps it for fill() of the same row.
class MemberRunner final : public OutputRunner {
 public:
  MemberRunner(std::unique_ptr<OutputRunner> inner, std::span<const MemberField> members)
      : inner_(std::move(inner)), members_(members) {}

  std::uint64_t items(const SlotRow& row) override {
    kept_ = false;
    const std::uint64_t count = inner_->items(of_member(row));
    kept_ = true;
    return count;
  }
  void fill(const SlotRow& row) override {
    inner_->fill(of_member(row));
    kept_ = false;
  }
  void share(Parallel* parallel) override { inner_->share(parallel); }
  const Placement* placement() const override { return inner_->placement(); }
  const PointTrace* trace() const override { return inner_->trace(); }
  const ItemTrace* items_trace() const override { return inner_->items_trace(); }
  std::span<const std::int64_t> row_shape() const override { return inner_->row_shape(); }
  void leave_empty(std::span<std::byte> slot) override { inner_->leave_empty(slot); }

 private:
  // The row with the member as its field. A chain may also read fields without a member.
  SlotRow of_member(const SlotRow& row) {
    const auto found = std::ranges::find(members_, row.field.schema->name, &MemberField::field);
    if (found == members_.end()) return row;
    if (!kept_) {
      std::optional<JsonMember> member = json_member(row.field.bytes, found->member);
      if (!member) throw Error::corrupt(no_json_member(found->member));
      text_ = std::move(member->text);
    }
    value_ = {.schema = &found->schema, .bytes = bytes_of(text_)};
    return {.field = value_,
            .sample = row.sample,
            .leader = row.leader,
            .points = row.points,
            .items = row.items,
            .slot = row.slot,
            .watch = row.watch};
  }

  std::unique_ptr<OutputRunner> inner_;
  std::span<const MemberField> members_;
  FieldBytes value_;
  std::string text_;
  bool kept_ = false;
};

Output output_of_member(Output output) {
  output.verbatim = output.partial = output.scattered = false;  // all of the object is read
  return output;
}

class MemberProgram final : public OutputProgram {
 public:
  MemberProgram(std::unique_ptr<OutputProgram> inner, std::vector<MemberField> members)
      : OutputProgram(output_of_member(inner->output())), inner_(std::move(inner)), members_(std::move(members)) {}

  std::unique_ptr<OutputRunner> runner() const override {
    return std::make_unique<MemberRunner>(inner_->runner(), members_);
  }
  bool takes_bytes() const override { return true; }
  Outcomes explain(const Layout& layout, const SampleContext& sample) const override {
    return inner_->explain(layout, sample);
  }
  std::optional<Size> image_size() const override { return inner_->image_size(); }
  bool traces_items() const override { return inner_->traces_items(); }

 private:
  std::unique_ptr<OutputProgram> inner_;
  std::vector<MemberField> members_;
};

// Returns a value of the field with the member. Values that are not objects with it are left to the runner's errors.
FirstBytes first_with_member(const FieldCatalog& catalog, std::uint32_t field, const std::string& member,
                             const std::function<bool(const FirstBytes&)>& wanted, bool& is_string) {
  const auto member_in = [&](const FirstBytes& value) -> std::optional<FirstBytes> {
    try {
      const std::optional<JsonMember> found = json_member(value.bytes, member);
      if (!found) return std::nullopt;
      const auto bytes = bytes_of(found->text);
      FirstBytes of_member({bytes.begin(), bytes.end()});
      of_member.exists = true;
      of_member.place = value.place;
      is_string = found->is_string;
      return of_member;
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  FirstBytes value = catalog.first_value(field, nullptr);
  std::optional<FirstBytes> found = value.exists ? member_in(value) : std::nullopt;
  if (found && wanted(*found)) return *std::move(found);
  if (!catalog.first_such) return {};
  found.reset();
  catalog.first_such(field, [&](const FirstBytes& some) {
    found = member_in(some);
    return found && wanted(*found);
  });
  return found ? *std::move(found) : FirstBytes();
}

}  // namespace

std::unique_ptr<OutputProgram> compile_members(const OutputRequest& request) {
  std::vector<FieldSchema> fields(request.catalog->fields.begin(), request.catalog->fields.end());
  std::vector<MemberField> members;
  FieldCatalog catalog{.fields = fields, .first_value = {}};
  const auto member_of = [&](std::uint32_t field) -> const std::string* {
    const auto found = std::ranges::find(request.members, field, &std::pair<std::uint32_t, std::string>::first);
    return found == request.members.end() ? nullptr : &found->second;
  };
  bool is_string = false;
  const auto any = [](const FirstBytes&) { return true; };
  catalog.first_value = [&](std::uint32_t field, const Codec* codec) {
    const std::string* member = member_of(field);
    return member == nullptr ? request.catalog->first_value(field, codec)
                             : first_with_member(*request.catalog, field, *member, any, is_string);
  };
  catalog.first_such = [&](std::uint32_t field, const std::function<bool(const FirstBytes&)>& wanted) {
    const std::string* member = member_of(field);
    if (member != nullptr) return first_with_member(*request.catalog, field, *member, wanted, is_string);
    return request.catalog->first_such ? request.catalog->first_such(field, wanted) : FirstBytes();
  };
  for (const auto& [field, member] : request.members) {
    const std::string& name = request.catalog->fields[field].name;
    if (std::ranges::find(members, name, &MemberField::field) != members.end()) {
      throw request.misuse("it reads two members of the field \"" + name + "\"; use an output for each");
    }
    if (request.catalog->first_value(field, nullptr).exists && !catalog.first_value(field, nullptr).exists) {
      throw request.misuse("no object in the field \"" + name + "\" has the member \"" + member + "\"");
    }
    fields[field] = {.name = name + ":" + member, .codec = is_string ? "txt" : "json"};
    members.push_back({.field = name, .member = member, .schema = fields[field]});
  }
  OutputRequest inner = request;
  inner.catalog = &catalog;
  inner.members.clear();
  return std::make_unique<MemberProgram>(compile(inner), std::move(members));
}

}  // namespace penstock
