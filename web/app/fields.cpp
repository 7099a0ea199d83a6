#include "app/fields.hpp"

#include <cmath>
#include <cstdint>
#include <cstdio>

#include "app/format.hpp"

namespace attn::app {

namespace {

std::string limit_text(double limit) {
    const bool is_count = limit >= 0 && limit == std::floor(limit) && limit < 1e15;
    if (is_count) return with_commas(static_cast<std::int64_t>(limit));
    char text[32];
    std::snprintf(text, sizeof text, "%g", limit);
    return text;
}

std::string limits_text(const FieldValue& value) {
    return std::isinf(value.most) ? limit_text(value.least) + " up"
                                  : limit_text(value.least) + " to " + limit_text(value.most);
}

std::string one_of(std::span<const std::string_view> names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text.append(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ").append(names[i]);
    return text;
}

}  // namespace

std::string expectation(const FieldValue& value) {
    const std::string what = "a " + std::string(value.what);
    switch (value.kind) {
        case FieldValue::Kind::named: return one_of(value.names);
        case FieldValue::Kind::word: return std::string(value.word);
        case FieldValue::Kind::spelled: return what + ", as " + std::string(value.names[0]);
        case FieldValue::Kind::whole:
        case FieldValue::Kind::real: break;
    }
    return what + " from " + limits_text(value);
}

std::string refusal(const FieldValue& value) {
    if (value.kind == FieldValue::Kind::named) return "Choose " + one_of(value.names) + ".";
    return "The " + std::string(value.what) + " must be from " + limits_text(value) + ".";
}

}  // namespace attn::app
