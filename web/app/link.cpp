#include "app/link.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "app/catalogue.hpp"
#include "app/command.hpp"
#include "app/lesson_state.hpp"
#include "app/link_text.hpp"
#include "app/looks.hpp"
#include "io/quote.hpp"

namespace attn::app {

namespace {

constexpr std::size_t fragment_limit = std::size_t{1} << 20;
constexpr char packed_mark = '~';  // follows the key of a packed value

// Calls what() for all subjects, or for one, and for all lenses.
void for_all_owners(const std::function<void(const LinkRows&)>& what, std::string_view only = {}) {
    for (const SubjectEntry& subject : subject_list())
        if (only.empty() || subject.key == only) what(subject.links);
    for (const LensEntry& lens : lens_list()) what(lens.links);
}

// ---- Selections and pins ------------------------------------------------------------------------------

bool read_chosen(State& state, std::string_view text, void (*choose)(Selection&, Index)) {
    const auto index = read_integer<Index>(text);
    if (!index) return false;
    Selection selection = state.selection;
    choose(selection, *index);
    return take(state, Select{selection});
}

std::optional<std::string> unless_empty(const std::string& text) {
    return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<std::string> write_index(const std::optional<Index>& index) {
    return index ? std::optional(std::to_string(*index)) : std::nullopt;
}

// Writes "sentence,4.7.13.11.,weight.13.11:tensors,0.2...": layer, head, query, key and counterpart, and the
// pinned cell.
std::string write_others(const OtherChoices& others) {
    std::string text;
    const auto number = [](const std::optional<Index>& index) { return index ? std::to_string(*index) : ""; };
    for (const auto& [subject, choice] : others.of) {
        const Selection& s = choice.selection;
        text.append(text.empty() ? "" : ":").append(subject).append(",");
        text += std::to_string(s.layer) + "." + std::to_string(s.head) + "." + number(s.query) + "." +
                number(s.key) + "." + number(s.counterpart);
        if (choice.pin) text += "," + write_cell(*choice.pin);
    }
    return text;
}

std::optional<Chosen> read_chosen_there(std::span<const std::string_view> parts) {
    const auto numbers = split(parts[0], '.');
    if (numbers.size() != 5) return std::nullopt;
    std::array<std::optional<Index>, 5> read;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (numbers[i].empty()) continue;
        read[i] = read_integer<Index>(numbers[i]);
        if (!read[i] || *read[i] < 0 || *read[i] >= position_limit) return std::nullopt;
    }
    if (!read[0] || !read[1]) return std::nullopt;
    Chosen choice{{*read[0], *read[1], read[2], read[3], read[4]}, {}};
    if (parts.size() == 1) return choice;
    choice.pin = read_cell(parts[1], default_state());
    return choice.pin && !choice.pin->own() ? std::optional(choice) : std::nullopt;
}

std::optional<OtherChoices> read_others(std::string_view text, std::string_view open) {
    OtherChoices others;
    for (const auto each : split(text, ':')) {
        const auto parts = split(each, ',');
        if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
        const SubjectEntry* subject = find_subject(parts[0]);
        const auto choice = read_chosen_there(std::span(parts).subspan(1));
        if (!subject || subject->key == open || !choice || choice == Chosen{}) return std::nullopt;
        if (!others.of.emplace(subject->key, *choice).second) return std::nullopt;
    }
    return others;
}

bool edit_lesson(State& state, auto change) {
    LessonState lesson = lesson_of(state);
    change(lesson);
    return take(state, OpenLesson{lesson});
}

constexpr std::string_view chosen_keys[] = {"layer", "head", "query", "key", "counterpart", "chosen", "pin"};

constexpr LinkRow shared_rows[] = {
    {"layer", "the number of a layer",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.layer = i; });
     },
     [](const State& s, const State&) {
         return s.selection.layer ? write_index(s.selection.layer) : std::nullopt;
     }},
    {"head", "the number of a head",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.head = i; });
     },
     [](const State& s, const State&) {
         return s.selection.head ? write_index(s.selection.head) : std::nullopt;
     }},
    {"query", "the number of a query",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.query = i; });
     },
     [](const State& s, const State&) { return write_index(s.selection.query); }},
    {"key", "the number of a key",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.key = i; });
     },
     [](const State& s, const State&) { return write_index(s.selection.key); }},
    {"counterpart", "the number of a token of the second text",
     [](State& s, const std::string& value) {
         return read_chosen(s, value, [](Selection& to, Index i) { to.counterpart = i; });
     },
     [](const State& s, const State&) { return write_index(s.selection.counterpart); }},
    {"chosen", "what is chosen in other subjects, as sentence,4.7.13.11.,weight.13.11",
     [](State& s, const std::string& value) {
         auto others = read_others(value, s.subject);
         if (!others) return false;
         s.edit<OtherChoices>() = *std::move(others);
         return true;
     },
     [](const State& s, const State&) { return unless_initial(s.of<OtherChoices>(), write_others); }},
    {"pin", "a cell of this example, as weight.0.1",
     [](State& s, const std::string& value) {
         const auto cell = read_cell(value, s);
         return cell && take(s, Pin{cell});
     },
     [](const State& s, const State&) { return s.pin ? std::optional(write_cell(*s.pin)) : std::nullopt; }},
    {"lesson", "the name of a lesson",
     [](State& s, const std::string& value) {
         return is_lesson_name(value) && edit_lesson(s, [&](LessonState& l) { l.name = value; });
     },
     [](const State& s, const State&) { return unless_empty(lesson_of(s).name); }},
    {"lesson.text", "a lesson of at most 32,000 characters",
     [](State& s, const std::string& value) {
         return fits_into_a_link(value) && edit_lesson(s, [&](LessonState& l) { l.text = value; });
     },
     [](const State& s, const State&) { return unless_empty(lesson_of(s).text); }},
    {"lesson.step", "the number of a step, from 0",
     [](State& s, const std::string& value) {
         const auto step = read_integer<Index>(value);
         return step && edit_lesson(s, [&](LessonState& l) { l.step = *step; });
     },
     [](const State& s, const State&) {
         const Index step = lesson_of(s).step;
         return step == 0 ? std::nullopt : std::optional(std::to_string(step));
     }},
};

// ---- Reading ----------------------------------------------------------------------------------------------

constexpr std::string_view first_keys[] = {"v", "subject", "lens"};

}  // namespace

bool is_link_key(std::string_view key) {
    bool known = std::ranges::find(first_keys, key) != std::end(first_keys) ||
                 std::ranges::find(shared_rows, key, &LinkRow::key) != std::end(shared_rows);
    for_all_owners([&](const LinkRows& links) {
        known = known || (links.group.knows && links.group.knows(key)) ||
                std::ranges::find(links.rows, key, &LinkRow::key) != links.rows.end();
    });
    return known;
}

namespace {

std::string keys_of(const auto& list) {
    std::string text;
    for (const auto& entry : list)
        text.append(text.empty() ? "" : &entry == &list.back() ? " or " : ", ").append(entry.key);
    return text;
}

class Reader final : public LinkReader {
  public:
    explicit Reader(std::string_view fragment) {
        while (!fragment.empty()) {
            const auto end = std::min(fragment.find('&'), fragment.size());
            if (end > 0) add(fragment.substr(0, end));
            fragment.remove_prefix(std::min(end + 1, fragment.size()));
        }
    }

    ParsedFragment read() {
        if (const auto version = given("v"); version && *version != "1")
            return {default_state(), "The link is of version " + quote(*version) +
                                         " and this page reads version 1, so the first example is shown."};
        value("subject", keys_of(subject_list()),
              [&](const std::string& text) { return take(state_, OpenSubject{text}); });
        std::string_view lens;
        value("lens", keys_of(lens_list()), [&](const std::string& text) {
            if (take(state_, OpenSubject{text})) return true;
            if (const LensEntry* found = find_lens(text)) lens = found->key;
            return !lens.empty();
        });
        for_all_owners([&](const LinkRows& links) {
            if (links.group.read) links.group.read(*this, state_);
        });
        for (const SubjectEntry& subject : subject_list()) read_rows(subject.links.rows);
        state_.lens = lens.empty() ? usual_lens(state_) : lens;
        for (const LensEntry& each : lens_list()) read_rows(each.links.rows);
        read_rows(shared_rows);
        if (dropped_ > 1)
            note_ += ", and " + std::to_string(dropped_ - 1) + " more of its values were left out";
        if (dropped_ > 0) note_ += ".";
        return {std::move(state_), std::move(note_)};
    }

    void value(std::string_view key, std::string_view expected,
               const std::function<bool(const std::string& text)>& read) override {
        const std::string* text = given(key);
        if (text && !read(*text))
            drop("The link's value " + quote(*text) + " for " + quote(key) + " is not " +
                 std::string(expected) + "; the default is used");
    }

    // The note names the first item dropped and counts the rest.
    void drop(std::string what) override {
        if (dropped_++ == 0) note_ = std::move(what);
    }

  private:
    struct Given {
        std::string key;
        std::string value;
    };

    void add(std::string_view part) {
        const auto equals = part.find('=');
        const std::string_view raw_key = part.substr(0, equals);
        const std::string_view raw_value = equals == std::string_view::npos ? "" : part.substr(equals + 1);
        auto key = percent_decode(raw_key);
        const bool packed = key && key->ends_with(packed_mark);
        if (packed) key->pop_back();
        const auto value = packed ? unpack(raw_value) : percent_decode(raw_value);
        if (!key || !is_link_key(*key))
            drop("The link's key " + quote(key ? *key : raw_key) + " is not known here");
        else if (given(*key))
            drop("The link gives " + quote(*key) + " twice; the first is used");
        else if (!value)
            drop("The link's value " + quote(raw_value) + " for " + quote(*key) +
                 (packed ? " is cut off or damaged" : " is not percent-encoded text") +
                 "; the default is used");
        else
            given_.push_back({*key, *value});
    }

    const std::string* given(std::string_view key) const {
        const auto found = std::ranges::find(given_, key, &Given::key);
        return found == given_.end() ? nullptr : &found->value;
    }

    void read_rows(std::span<const LinkRow> rows) {
        for (const LinkRow& row : rows)
            value(row.key, row.expected, [&](const std::string& text) { return row.read(state_, text); });
    }

    std::vector<Given> given_;
    State state_ = default_state();
    std::string note_;
    int dropped_ = 0;
};

void prune(State& state) {
    if (!fits_into_a_link(lesson_of(state).text)) state.edit<LessonState>() = {};
    for_all_owners([&](const LinkRows& links) {
        if (links.prune) links.prune(state);
    });
}

}  // namespace

bool LinkComparison::is_same(std::string_view key) const {
    const auto same = [&](std::string_view of) {
        const auto first = a_.find(std::string(of)), second = b_.find(std::string(of));
        return (first == a_.end() ? "" : first->second) == (second == b_.end() ? "" : second->second);
    };
    // A matrix that its link leaves out is the example's.
    const bool is_matrix = stage_by_key(key).has_value();
    return same(key) && (!is_matrix || (same("ex") && same("source")));
}

std::vector<std::string> LinkComparison::changed() const {
    std::vector<std::string> keys;
    for (const auto* values : {&a_, &b_})
        for (const auto& [key, value] : *values)
            if (std::ranges::find(chosen_keys, key) == std::end(chosen_keys) && !is_same(key) &&
                std::ranges::find(keys, key) == keys.end())
                keys.push_back(key);
    return keys;
}

bool leaves_out(const State& state) {
    State pruned = state;
    prune(pruned);
    return pruned != state;
}

namespace {

// Calls add(key, value) for what a link says of the State, in its order: of all subjects, or of one.
void write_link(const State& whole, const LinkWriter& add, std::string_view subject = {}) {
    State state = whole;
    const bool is_usual = state.lens == usual_lens(state);
    prune(state);
    if (is_usual) state.lens = usual_lens(state);
    const State first = default_state();
    if (state.subject != first.subject) add("subject", state.subject);
    if (state.lens != usual_lens(state)) add("lens", state.lens);
    State usual = first;
    for_all_owners(
        [&](const LinkRows& links) {
            if (links.group.write) links.group.write(add, state, usual);
        },
        subject);
    const auto write_rows = [&](std::span<const LinkRow> rows) {
        for (const LinkRow& row : rows)
            if (const auto value = row.write(state, usual)) add(row.key, *value);
    };
    for_all_owners([&](const LinkRows& links) { write_rows(links.rows); }, subject);
    write_rows(shared_rows);
}

}  // namespace

std::map<std::string, std::string> link_values(const State& state) {
    std::map<std::string, std::string> values;
    write_link(state, [&](std::string_view key, std::string_view value) { values.emplace(key, value); });
    return values;
}

namespace {

std::string fragment_of(const State& state, std::string_view subject) {
    std::string fragment;
    const auto add = [&](std::string_view key, std::string_view value) {
        fragment.append("&").append(key);
        if (is_packed_in_a_link(value))
            fragment.append(1, packed_mark).append("=").append(pack(value));
        else
            fragment.append("=").append(percent_encode(value));
    };
    write_link(state, add, subject);
    return fragment.empty() ? fragment : "v=1" + fragment;
}

}  // namespace

std::string to_fragment(const State& state) { return fragment_of(state, {}); }

std::string to_subject_fragment(const State& state) {
    State alone = state;
    alone.edit<OtherChoices>() = {};
    alone.edit<LessonState>() = {};
    return fragment_of(alone, state.subject);
}

ParsedFragment parse_fragment(std::string_view fragment) {
    if (fragment.starts_with('#')) fragment.remove_prefix(1);
    if (fragment.size() > fragment_limit)
        return {default_state(),
                "The link is longer than a million characters, so the first example is shown."};
    return Reader(fragment).read();
}

}  // namespace attn::app
