#include "io/json.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "io/quote.hpp"

namespace attn {

namespace {

using nlohmann::json;

// Builds the tree from the parser's events; an event that returns false ends the parse.
class TreeBuilder {
  public:
    TreeBuilder(std::string_view text, std::string_view what, JsonLimits limits)
        : text_(text), what_(what), limits_(limits) {}

    Result<json> result(bool complete) && {
        if (!complete) return Error{std::move(message_)};
        return std::move(root_);
    }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(json::number_integer_t value) { return add(value); }
    bool number_unsigned(json::number_unsigned_t value) { return add(value); }
    bool number_float(json::number_float_t value, const std::string&) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(json::binary_t&) { return false; }  // only occurs in binary formats

    bool start_object(std::size_t) { return open(json::object()); }
    bool end_object() { return close(); }
    bool start_array(std::size_t) { return open(json::array()); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        Level& level = open_.back();
        const auto [place, is_new] = level.node->get_ptr<json::object_t*>()->try_emplace(name);
        if (!is_new) return refuse(" has the key " + quote(name) + " twice" + where());
        level.key = &place->first;
        level.slot = &place->second;
        return true;
    }

    bool parse_error(std::size_t read, const std::string&, const json::exception& error) {
        // what() reads "[…] parse error at …: syntax error while parsing … - REASON; last read: '…'; expected
        // …".
        std::string_view reason = error.what();
        const auto dash = reason.find(" - ");
        if (dash == reason.npos) return refuse(" has a number that is too large" + at(read));
        reason.remove_prefix(dash + 3);
        reason = reason.substr(0, reason.find("; last read"));
        return refuse(" is not valid JSON" + at(read) + ": " + std::string(reason));
    }

    bool nothing() { return refuse(" is empty; it should hold JSON"); }

    bool zero_byte(std::size_t offset) {
        return refuse(" is not valid JSON" + at(offset + 1) + ": it has a zero byte");
    }

  private:
    struct Level {
        json* node;
        const std::string* key = nullptr;  // the next value's key, in an object
        json* slot = nullptr;              // where that value goes
    };

    json* add_node(json&& value) {
        if (values_++ == limits_.values) {
            refuse(" holds more than " + std::to_string(limits_.values) + " values");
            return nullptr;
        }
        if (open_.empty()) return &(root_ = std::move(value));
        Level& level = open_.back();
        if (level.slot) return &(*level.slot = std::move(value));
        return &level.node->get_ptr<json::array_t*>()->emplace_back(std::move(value));
    }

    bool add(json&& value) { return add_node(std::move(value)) != nullptr; }

    bool open(json&& container) {
        if (open_.size() == limits_.depth)
            return refuse(" is nested more than " + std::to_string(limits_.depth) + " levels deep" + where());
        json* node = add_node(std::move(container));
        if (node) open_.push_back({node});
        return node != nullptr;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    bool refuse(std::string what_is_wrong) {
        message_ = std::string(what_) + std::move(what_is_wrong);
        return false;
    }

    // Names the place of the last of the first `read` characters.
    std::string at(std::size_t read) const {
        const std::string_view before = text_.substr(0, std::max<std::size_t>(read, 1) - 1);
        const auto line = std::ranges::count(before, '\n') + 1;
        const std::size_t column = before.size() - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
        return " at line " + std::to_string(line) + ", column " + std::to_string(column);
    }

    // Names the innermost object that lies in another: " in 'rope_scaling'".
    std::string where() const {
        for (std::size_t i = open_.size(); i-- > 1;)
            if (open_[i - 1].key) return " in " + quote(*open_[i - 1].key);
        return "";
    }

    std::string_view text_;
    std::string_view what_;
    JsonLimits limits_;
    json root_;
    std::vector<Level> open_;
    std::size_t values_ = 0;
    std::string message_;
};

}  // namespace

Result<json> parse_json(std::span<const std::byte> bytes, std::string_view what, JsonLimits limits) {
    if (bytes.size() > limits.bytes)
        return Error{std::string(what) + " has " + std::to_string(bytes.size()) + " bytes; at most " +
                     std::to_string(limits.bytes) + " can be read here"};
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    TreeBuilder builder(text, what, limits);
    // The lexer takes a zero byte for the end of the text.
    const std::size_t zero = text.find('\0');
    const bool complete = zero != text.npos ? builder.zero_byte(zero)
                          : text.find_first_not_of(" \t\r\n") == text.npos
                              ? builder.nothing()
                              : json::sax_parse(text.begin(), text.end(), &builder);
    return std::move(builder).result(complete);
}

std::string json_string(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace attn
