// Describes what the owner of a part of the State writes into links, one row per key.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/state.hpp"

namespace attn::app {

struct FieldValue;

struct LinkRow {
    std::string_view key = {};       // new keys begin with their owner's name and a dot: "scale.d"
    std::string_view expected = {};  // completes "the link's value is not …"
    // Reads the key's value into the State; false if the value is invalid. Rows are read in order.
    bool (*read)(State&, const std::string& value) = nullptr;
    // Returns the key's value, or nothing if it equals that of `usual`, the State that a link without this
    // key gives.
    std::optional<std::string> (*write)(const State& state, const State& usual) = nullptr;
    // Lists its allowed values, if the row belongs to a field (app/fields.hpp).
    std::vector<FieldValue> (*values)() = nullptr;
};

// Holds the keys of a link that are still to be read.
class LinkReader {
  public:
    virtual ~LinkReader() = default;
    // Calls read(text) with the key's value if the link has the key. `read` returns false if the value is not
    // as expected.
    virtual void value(std::string_view key, std::string_view expected,
                       const std::function<bool(const std::string& text)>& read) = 0;
    virtual void drop(std::string why) = 0;  // notes what was left out, as a clause without a full stop
};
using LinkWriter = std::function<void(std::string_view key, std::string_view value)>;

// Handles several keys that mean something only together. They are read and written before all rows.
struct LinkGroup {
    bool (*knows)(std::string_view key) = nullptr;
    void (*read)(LinkReader&, State&) = nullptr;
    // Changes `usual` to the State that a link with only these keys gives.
    void (*write)(const LinkWriter&, const State& state, State& usual) = nullptr;
};

struct LinkRows {
    std::span<const LinkRow> rows;
    LinkGroup group{};
    // Removes whatever is too long for a link from a State.
    void (*prune)(State&) = nullptr;
};

template <std::size_t n, std::size_t m>
constexpr std::array<LinkRow, n + m> joined(const LinkRow (&first)[n], const std::array<LinkRow, m>& second) {
    std::array<LinkRow, n + m> all{};
    std::copy(first, first + n, all.begin());
    std::copy(second.begin(), second.end(), all.begin() + n);
    return all;
}

}  // namespace attn::app
