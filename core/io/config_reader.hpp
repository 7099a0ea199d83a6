// Reads the keys of a config.json: shared by the readers of all families.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/model_config.hpp"
#include "io/quote.hpp"

namespace attn {

using nlohmann::json;

// These limits are above anything published, and low enough that a product of two cannot overflow 64 bits.
inline constexpr Index max_vocab = Index{1} << 24;
inline constexpr Index max_layers = 1024;
inline constexpr Index max_heads = 1024;
inline constexpr Index max_width = Index{1} << 17;
inline constexpr Index max_head_dim = Index{1} << 14;
inline constexpr Index max_hidden = Index{1} << 20;
inline constexpr Index max_context = Index{1} << 26;
inline constexpr double max_theta = 1e12;
inline constexpr double max_factor = 1e6;

inline std::string shown(const json& value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    if (const auto* text = value.get_ptr<const std::string*>()) return quote(*text);
    return value.dump();
}

// Reads the keys of one object; those of a whole configuration have its class's values where the file has
// none. Only the first error is kept; values read after it are meaningless.
class Reader {
  public:
    Reader(const json& object, std::string& problem) : object_(object), problem_(problem) {}

    void refuse(std::string what) {
        if (problem_.empty()) problem_ = "config.json " + std::move(what);
    }

    Reader inside(const json& object) const { return Reader(object, problem_); }

    // Returns null if the key is absent or its value is null.
    const json* find(const char* key) const {
        const auto place = object_.find(key);
        return place == object_.end() || place->is_null() ? nullptr : &*place;
    }

    Index size(const char* key, Index max) {
        if (!find(key)) refuse("has no " + quote(key));
        return size(key, max, 1);
    }

    Index size(const char* key, Index max, Index absent, Index min = 1) {
        const json* value = find(key);
        if (!value) return absent;
        const auto* number = value->get_ptr<const json::number_unsigned_t*>();
        if (number && std::cmp_greater_equal(*number, min) && std::cmp_less_equal(*number, max))
            return static_cast<Index>(*number);
        wrong(key, *value, "a whole number from " + std::to_string(min) + " to " + std::to_string(max));
        return absent;
    }

    double number(const char* key, double absent, double min, double max) {
        const json* value = find(key);
        if (!value) return absent;
        if (value->is_number()) {
            const auto read = value->get<double>();
            if (min <= read && read <= max) return read;
        }
        wrong(key, *value, "a number from " + shown(min) + " to " + shown(max));
        return absent;
    }

    double number(const char* key, double min, double max) {
        if (!find(key)) refuse("has no " + quote(key));
        return number(key, min, min, max);
    }

    bool flag(const char* key, bool absent = false) {
        const json* value = find(key);
        if (!value) return absent;
        const auto* read = value->get_ptr<const bool*>();
        if (!read) wrong(key, *value, "true or false");
        return read ? *read : absent;
    }

    // Reads so many numbers, all of them positive.
    std::vector<double> numbers(const char* key, Index count, double max) {
        const json* value = find(key);
        std::vector<double> out;
        if (value && value->is_array())
            for (const json& each : *value)
                if (each.is_number() && each.get<double>() > 0 && each.get<double>() <= max)
                    out.push_back(each.get<double>());
        if (!value)
            refuse("has no " + quote(key));
        else if (std::ssize(out) != count || std::ssize(*value) != count)
            wrong(key, *value, "a list of " + std::to_string(count) + " positive numbers");
        return out;
    }

    std::string_view word(const char* key, std::string_view absent = "") {
        const json* value = find(key);
        if (!value) return absent;
        const auto* read = value->get_ptr<const std::string*>();
        if (!read) wrong(key, *value, "a text");
        return read ? *read : absent;
    }

    std::vector<std::int64_t> ids(const char* key) {
        std::vector<std::int64_t> out;
        const auto add = [&](const json& value) {
            const auto* large = value.get_ptr<const json::number_unsigned_t*>();
            if (value.is_number_integer() && (!large || std::in_range<std::int64_t>(*large)))
                out.push_back(value.get<std::int64_t>());
            else
                wrong(key, value, "a token id or a list of token ids");
        };
        if (const json* value = find(key); value && value->is_array())
            for (const json& id : *value) add(id);
        else if (value)
            add(*value);
        return out;
    }

  private:
    void wrong(const char* key, const json& value, const std::string& expected) {
        refuse("should have " + expected + " as " + quote(key) + ", but has " + shown(value));
    }

    const json& object_;
    std::string& problem_;
};

Activation read_activation(Reader& in, const char* key);
// Returns the activation of that name, which stands under this key.
Activation activation_named(Reader& in, const char* key, std::string_view name);

// transformers 4 writes rope_theta, and rope_scaling with rope_type or type; transformers 5 puts all of it in
// rope_parameters, of which models whose layers differ have one for each kind. Needs the head_dim and the
// context.
void read_rope(Reader& in, ModelConfig& c, const char* theta_key = "rope_theta",
               const char* share_key = "partial_rotary_factor");

// Which layers see only a window of keys.
void read_windows(Reader& in, ModelConfig& c);

// One function for each way to spell a configuration. Each sets all but what every model has.
void read_gpt2(Reader& in, ModelConfig& c);
void read_llama(Reader& in, ModelConfig& c);  // and all that share most of its keys
void read_gpt_neox(Reader& in, ModelConfig& c);
void read_gptj(Reader& in, ModelConfig& c);
void read_falcon(Reader& in, ModelConfig& c);
void read_opt(Reader& in, ModelConfig& c);
void read_bert(Reader& in, ModelConfig& c);  // and roberta
void read_distilbert(Reader& in, ModelConfig& c);
void read_t5(Reader& in, ModelConfig& c);

}  // namespace attn
