// Describes the fields of a part of the State in one table: how links spell them, which values are allowed,
// and how a change of them is described. The command that sets the part, its link rows and its random tests
// follow from the table.
//
//   const Fields<State>& State::fields() {  // a static member of the part
//       static const Field<State> all[]{
//           {"scale.d", "d_k {}", whole<&State::components>("number of components", 1, 4096),
//            named<&State::vectors>(vector_keys)},
//       };
//       static const Fields<State> fields{all};
//       return fields;
//   }
//
// Links spell the values of a field one after another, with commas: "scale.d=64,head". Trailing values that
// equal the default are left out, and so is a field whose values all do.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/command.hpp"
#include "app/format.hpp"
#include "app/link_rows.hpp"
#include "app/link_text.hpp"

namespace attn::app {

inline constexpr double seed_limit = std::numeric_limits<std::uint32_t>::max();
// Upper limit for token ids.
inline constexpr std::int32_t token_limit = std::numeric_limits<std::int32_t>::max();

// Describes which values are allowed.
struct FieldValue {
    enum class Kind { whole, real, named, word, spelled };
    Kind kind = Kind::whole;
    std::string_view what = {};                    // "number of components"
    double least = 0, most = 0;                    // range of whole and real values
    std::span<const std::string_view> names = {};  // names of a named value, or examples of a spelled one
    std::string_view word = {};
};
std::string expectation(const FieldValue& value);  // "a number of components from 1 to 4,096"
std::string refusal(const FieldValue& value);      // "The number of components must be from 1 to 4,096."

template <class S>
struct FieldPart {
    FieldValue value;
    bool (*read)(const FieldValue&, S&, std::string_view text);  // false: not such a value
    std::string (*write)(const FieldValue&, const S&);
    bool (*holds)(const FieldValue&, const S&);  // whether the current value is allowed
    bool (*same)(const S&, const S&);
};

namespace field_codecs {

template <class T>
const T* there(const T& value) {
    return &value;
}
template <class T>
const T* there(const std::optional<T>& value) {
    return value ? &*value : nullptr;
}

struct Number {
    template <class T>
    static bool read(const FieldValue&, std::string_view text, T& to) {
        using Bare = std::remove_cvref_t<decltype(*there(to))>;
        const auto number = [&] {
            if constexpr (std::is_floating_point_v<Bare>)
                return read_number(text);
            else
                return read_integer<Bare>(text);
        }();
        if (number) to = static_cast<Bare>(*number);
        return number.has_value();
    }
    static std::string write(const FieldValue&, const auto& value) {
        const auto* number = there(value);
        if (!number) return "";
        if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(*number)>>)
            return std::to_string(*number);
        else
            return shortest(*number);
    }
    static bool holds(const FieldValue& of, const auto& value) {
        const auto* number = there(value);
        return !number ||
               (static_cast<double>(*number) >= of.least && static_cast<double>(*number) <= of.most);
    }
};

struct Name {
    template <class T>
    static bool read(const FieldValue& of, std::string_view text, T& to) {
        const auto found = std::ranges::find(of.names, text);
        if (found != of.names.end()) to = static_cast<T>(found - of.names.begin());
        return found != of.names.end();
    }
    static std::string write(const FieldValue& of, const auto& value) {
        return std::string(of.names[static_cast<std::size_t>(value)]);
    }
    static bool holds(const FieldValue& of, const auto& value) {
        return static_cast<std::size_t>(value) < of.names.size();
    }
};

struct Word {
    template <class T>
    static bool read(const FieldValue& of, std::string_view text, T& to) {
        to = static_cast<T>(true);
        return text == of.word;
    }
    static std::string write(const FieldValue& of, const auto&) { return std::string(of.word); }
    static bool holds(const FieldValue&, const auto&) { return true; }
};

template <auto reader, auto writer>
struct Spelling {
    static bool read(const FieldValue&, std::string_view text, auto& to) {
        auto value = reader(text);
        if (!value) return false;
        to = *std::move(value);
        return true;
    }
    static std::string write(const FieldValue&, const auto& value) {
        const auto* spelled = there(value);
        return spelled ? std::string(writer(*spelled)) : std::string();
    }
    static bool holds(const FieldValue&, const auto&) { return true; }
};

}  // namespace field_codecs

// Converts to a FieldPart of any State that has the member `of` (or the member of a member, through a
// function that returns a reference). A Codec reads a text, writes a value, and says whether the value is
// allowed.
template <auto of, class Codec>
struct PartBy {
    FieldValue value;

    template <class S>
    static const auto& get(const S& state) {
        return std::invoke(of, const_cast<S&>(state));
    }
    template <class S>
    operator FieldPart<S>() const {
        return {value,
                [](const FieldValue& may, S& to, std::string_view text) {
                    return Codec::read(may, text, std::invoke(of, to));
                },
                [](const FieldValue& may, const S& state) { return Codec::write(may, get(state)); },
                [](const FieldValue& may, const S& state) { return Codec::holds(may, get(state)); },
                [](const S& a, const S& b) { return get(a) == get(b); }};
    }
};

template <auto of>
constexpr PartBy<of, field_codecs::Number> whole(std::string_view what, double least, double most) {
    return {{FieldValue::Kind::whole, what, least, most}};
}
template <auto of>
constexpr PartBy<of, field_codecs::Number> real(std::string_view what, double least, double most) {
    return {{FieldValue::Kind::real, what, least, most}};
}
// One of several names. They stand for the values of an enumeration, from 0 on, or for false and true.
template <auto of>
constexpr PartBy<of, field_codecs::Name> named(std::span<const std::string_view> names) {
    return {{FieldValue::Kind::named, {}, 0, 0, names}};
}
// A switch, or an enumeration of two values. It is off by default and on if a link has this word.
template <auto of>
constexpr PartBy<of, field_codecs::Word> word(std::string_view text) {
    return {{.kind = FieldValue::Kind::word, .word = text}};
}
// Any other type. read(text) returns nothing if the text is not such a value.
template <auto of, auto read, auto write>
constexpr PartBy<of, field_codecs::Spelling<read, write>> spelled(
    std::string_view what, std::span<const std::string_view> examples) {
    return {{FieldValue::Kind::spelled, what, 0, 0, examples}};
}

// Describes a change for the status line: a text with {} for the value, or the result of a function of the
// State.
template <class S>
struct FieldWords {
    FieldWords(const char* as) : text(as) {}
    FieldWords(const char* as, const char* as_at_first) : text(as), at_first(as_at_first) {}
    template <class Make>
        requires std::convertible_to<Make, std::string (*)(const S&)>
    FieldWords(Make by) : make(by) {}
    const char* text = "";
    const char* at_first = nullptr;  // used if the value equals the default; null: no special text
    std::string (*make)(const S&) = nullptr;
};

template <class S>
struct Field {
    std::string_view key;  // in links, with its owner's name: "scale.d"
    FieldWords<S> words;
    std::vector<FieldPart<S>> parts;

    template <class... Parts>
    Field(std::string_view called, FieldWords<S> described, const Parts&... with)
        : key(called), words(described), parts{FieldPart<S>(with)...} {}

    bool same(const S& a, const S& b) const {
        for (const FieldPart<S>& part : parts)
            if (!part.same(a, b)) return false;
        return true;
    }
    std::string write(const S& state, const S& at_first) const {
        std::size_t count = parts.size();
        while (count > 1 && parts[count - 1].same(state, at_first)) --count;
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += (i == 0 ? "" : ",") + parts[i].write(parts[i].value, state);
        return text;
    }
    // A field with a single value takes the whole text.
    bool read(S& to, std::string_view text) const {
        if (parts.size() == 1) return parts[0].read(parts[0].value, to, text);
        const auto values = split(text, ',');
        if (values.size() > parts.size()) return false;
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!parts[i].read(parts[i].value, to, values[i])) return false;
        return true;
    }
    std::string describe(const S& state, const S& at_first) const {
        if (words.make) return words.make(state);
        if (words.at_first && same(state, at_first)) return words.at_first;
        std::string text = words.text;
        if (const auto place = text.find("{}"); place != std::string::npos)
            text.replace(place, 2, write(state, at_first));
        return text;
    }
};

template <class S>
struct Fields {
    std::span<const Field<S>> all;
    // Checks conditions that involve several values; null: there are none.
    Status (*check)(const S&) = nullptr;
    // Maps equivalent States to one of them; null: none are equivalent.
    void (*normalise)(S&) = nullptr;
};
// Sets the whole part.
template <class S>
struct Set {
    S next;

    Status apply(State& state) const {
        const Fields<S>& fields = S::fields();
        for (const Field<S>& field : fields.all)
            for (const FieldPart<S>& part : field.parts)
                if (!part.holds(part.value, next)) return Error{refusal(part.value)};
        if (fields.check)
            if (Status fits = fields.check(next); !fits) return fits;
        S& kept = state.edit<S>();
        kept = next;
        if (fields.normalise) fields.normalise(kept);
        return ok();
    }
    std::string describe(const State& before) const {
        for (const Field<S>& field : S::fields().all)
            if (!field.same(next, before.of<S>())) return field.describe(next, initial<S>());
        return S::fields().all.front().describe(next, initial<S>());
    }
};

namespace field_rows {

template <class S>
std::string expectation(const Field<S>& field) {
    std::string text;
    for (const FieldPart<S>& part : field.parts)
        text += (text.empty() ? "" : ", then ") + app::expectation(part.value);
    return text;
}

template <class S, std::size_t i>
LinkRow row() {
    static const std::string expected = expectation(S::fields().all[i]);
    return {S::fields().all[i].key, expected,
            [](State& state, const std::string& text) {
                S next = state.of<S>();
                return S::fields().all[i].read(next, text) && take(state, Set<S>{std::move(next)});
            },
            [](const State& state, const State&) -> std::optional<std::string> {
                const Field<S>& field = S::fields().all[i];
                if (field.same(state.of<S>(), initial<S>())) return std::nullopt;
                return field.write(state.of<S>(), initial<S>());
            },
            [] {
                std::vector<FieldValue> values;
                for (const FieldPart<S>& part : S::fields().all[i].parts) values.push_back(part.value);
                return values;
            }};
}

}  // namespace field_rows

// Makes the link rows of the part's `count` fields.
template <class S, std::size_t count>
std::span<const LinkRow> rows_of_fields() {
    static const std::array<LinkRow, count> rows = []<std::size_t... i>(std::index_sequence<i...>) {
        return std::array{field_rows::row<S, i>()...};
    }(std::make_index_sequence<count>());
    return rows;
}

}  // namespace attn::app
