#include "lenses/compare/compare.hpp"

#include <algorithm>
#include <array>

#include "app/format.hpp"

namespace attn::app::compare {

namespace {

constexpr Index most_tokens = 1024;  // with more tokens, whole maps are not kept
constexpr std::array<std::string_view, 3> view_keys{"sides", "blink", "difference"};

// Says whether one of the views has something to show, now or after opening a subject with something to
// compare.
bool compares(const app::State& state) {
    return lens_of(state).compares || std::ranges::any_of(subject_list(), [&](const SubjectEntry& subject) {
               return subject.has_second && subject.has_second(state);
           });
}

}  // namespace

const Fields<State>& State::fields() {
    static const Field<State> all[]{{"compare", "comparison", named<&State::view>(view_keys)}};
    static const Fields<State> fields{.all = all};
    return fields;
}

// Links have the view only beside a second text.
LinkRows links() {
    static const LinkRow field = rows_of_fields<State, 1>().front();
    static const std::array<LinkRow, 1> rows{
        {{.key = field.key,
          .expected = "sides, blink or difference, beside a second text",
          .read = [](app::State& s, const std::string& text) { return compares(s) && field.read(s, text); },
          .write = [](const app::State& s,
                      const app::State& usual) { return compares(s) ? field.write(s, usual) : std::nullopt; },
          .values = field.values}}};
    return {rows};
}

const Pairings& CompareLens::pairings(Subject& subject) {
    return pairings_.of(versions_of(subject),
                        [&] { return pairings_of(*subject.attention(), *second_of(subject)); });
}

const PairMaps& CompareLens::maps(Subject& subject) {
    return maps_.of({versions_of(subject), subject.chosen_head()}, [&] {
        return pair_maps(*subject.attention(), *second_of(subject), pairings(subject), subject.chosen_head());
    });
}

const Alike& CompareLens::alike(Subject& subject, Index query, Index second_query) {
    return alike_.of({versions_of(subject), {query, second_query}}, [&] {
        return alike_of(*subject.attention(), *second_of(subject), pairings(subject).keys.alignment(), query,
                        second_query);
    });
}

Index Frame::query() const {
    if (const auto& pointed = drawing.pointed.query; pointed && *pointed < first.queries()) return *pointed;
    const auto chosen = selection().query;
    return chosen && *chosen < first.queries() ? *chosen : first.predicted();
}

std::optional<Index> Frame::second_query() const {
    const auto there = [&](std::optional<Index> token) { return token && *token < second.queries(); };
    if (there(drawing.pointed.second_query)) return drawing.pointed.second_query;
    if (drawing.pointed.query)
        if (const auto counterpart = pairings.queries.second_of(query())) return counterpart;
    if (there(selection().counterpart)) return selection().counterpart;
    return drawing.pointed.query ? std::nullopt : pairings.queries.second_of(query());
}

void Frame::point_in(bool of_second, std::optional<Index> row, std::optional<Index> key) const {
    const auto beside = [&](const Pairing& pairing, std::optional<Index> token) {
        return !token ? std::nullopt : of_second ? pairing.first_of(*token) : pairing.second_of(*token);
    };
    std::optional<Index> other_row = beside(pairings.queries, row), other_key = beside(pairings.keys, key);
    if (of_second) std::swap(row, other_row), std::swap(key, other_key);
    drawing.point(row, key);
    drawing.now.second_query = other_row;
    drawing.now.second_key = other_key;
}

std::string CompareLens::spoken(Subject& subject) {
    const Attention &first = *subject.attention(), &second = *second_of(subject);
    const Selection s = subject.chosen();
    const auto& here = readers_[0].read(first, s.layer, s.head, s.query);
    if (!here) return "";
    const auto partner = pairings(subject).queries.second_of(here->query);
    const HeadIndex other = beside({s.layer, s.head}, second);
    const auto& there =
        readers_[1].read(second, other.layer, other.head, s.counterpart ? s.counterpart : partner);
    if (!there || (!partner && !s.counterpart))
        return here->asks + ", the first " + looks_at(*here) + "; the second has no such word.";
    if (here->looks.empty() || there->looks.empty() || here->looks[0].at != there->looks[0].at)
        return here->asks + ", the first " + looks_at(*here) + "; the second " + looks_at(*there) + ".";
    return here->asks + ", both look most at " + here->looks[0].at + ": the first with " +
           percent(here->looks[0].share) + ", the second with " + percent(there->looks[0].share) + ".";
}

std::optional<Missing> CompareLens::missing(Subject& subject) const {
    const Attention *first = subject.attention(), *second = second_of(subject);
    if (!second) {
        const Comparing* comparing = subject.comparing();
        if (const auto offer = comparing ? comparing->offer_second() : std::nullopt) {
            // The second run is still to come, so there is nothing to offer.
            if (subject_of(state()).has_second && subject_of(state()).has_second(state()))
                return Missing{comparing->second_wanted(), comparing->offer_alone(), true};
            return Missing{"Comparing needs a second run.", offer};
        }
        return Missing{"Comparing needs a second run, and this one has none to compare with."};
    }
    if (first->numbering().decoder != second->numbering().decoder ||
        (first->numbering().decoder > 0 && first->layers() != second->layers()))
        return Missing{
            "The two have different numbers of encoder or decoder layers, so they cannot be compared head by "
            "head."};
    const auto differ = [](const Attention& run) { return run.one_line() && run.queries() != run.keys(); };
    if (differ(*first) || differ(*second))
        return Missing{
            "Comparing needs to know which words queries and keys are; here there are not as many "
            "queries as keys."};
    if (std::max({first->queries(), second->queries(), first->keys(), second->keys()}) > most_tokens)
        return Missing{"Texts of up to " + std::to_string(most_tokens) +
                       " tokens can be compared: shorten the longer one."};
    return std::nullopt;
}

}  // namespace attn::app::compare
