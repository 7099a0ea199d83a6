#include "lenses/compare/compare.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "maps/picked.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, 3> view_keys{"sides", "blink", "difference"};

// Says whether one of the views has something to show, now or after opening a subject with something to
// compare.
bool compares(const State& state) {
    return lens_of(state).compares || std::ranges::any_of(subject_list(), [&](const SubjectEntry& subject) {
               return subject.has_second && subject.has_second(state);
           });
}

constexpr LinkRow rows[] = {
    {"compare", "sides, blink or difference, beside a second text",
     [](State& s, const std::string& value) {
         const auto view = index_of(view_keys, value);
         if (!view || !compares(s)) return false;
         return take(s, SetComparisonView{static_cast<ComparisonView>(*view)});
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const ComparisonView view = s.of<CompareState>().view;
         if (view == ComparisonView::sides || !compares(s)) return std::nullopt;
         return std::string(view_keys[static_cast<std::size_t>(view)]);
     }},
};

// Identifies tokens by their ids or, if there are none, by their positions.
std::vector<std::int32_t> ids_or_places(std::span<const std::int32_t> given, Index count) {
    std::vector<std::int32_t> ids(given.begin(), given.end());
    if (ids.empty()) {
        ids.resize(static_cast<std::size_t>(count));
        std::iota(ids.begin(), ids.end(), 0);
    }
    return ids;
}

// Returns the index of the token if it occurs exactly once.
std::optional<Index> only(std::span<const std::int32_t> ids, std::int32_t id) {
    return std::ranges::count(ids, id) == 1 ? std::optional<Index>(std::ranges::find(ids, id) - ids.begin())
                                            : std::nullopt;
}

}  // namespace

LinkRows compare_links() { return {rows}; }

Status SetComparisonView::apply(State& state) const {
    state.edit<CompareState>().view = view;
    return ok();
}
std::string SetComparisonView::describe(const State&) const { return "comparison"; }

Pairing::Pairing(std::vector<std::int32_t> first, std::vector<std::int32_t> second)
    : first_ids_(std::move(first)), second_ids_(std::move(second)), alignment_(first_ids_, second_ids_) {}

QueryStack query_stack(const Attention& attention) {
    const auto whole = attention.trace();
    if (!whole) return {};
    const Trace& queries = whole->attention(attention.alike().begin).queries;
    const Trace* encoder = whole->encoder().get();
    return {&queries, encoder && &queries != encoder ? encoder->attentions() : 0};
}

HeadIndex beside(const HeadIndex& head, const Attention& other) {
    return {std::min(head.layer, other.layers() - 1), std::min(head.head, other.heads() - 1)};
}

std::optional<Index> Pairing::second_of(Index token) const {
    if (const auto aligned = alignment_.second_of(token)) return aligned;
    return only(second_ids_, first_ids_[static_cast<std::size_t>(token)]);
}

std::optional<Index> Pairing::first_of(Index token) const {
    if (const auto aligned = alignment_.first_of(token)) return aligned;
    return only(first_ids_, second_ids_[static_cast<std::size_t>(token)]);
}

const Pairings& CompareLens::pairings_of(const Attention& first, const Attention& second) {
    if (paired_first_ != first.version() || paired_second_ != second.version()) {
        paired_first_ = first.version();
        paired_second_ = second.version();
        const auto queries = [](const Attention& run) { return ids_or_places(run.ids(), run.queries()); };
        const auto keys = [](const Attention& run) { return ids_or_places(run.key_ids(), run.keys()); };
        pairings_ = {Pairing(queries(first), queries(second)), Pairing(keys(first), keys(second))};
    }
    return pairings_;
}

void CompareLens::update_maps(const Attention& first, const Attention& second, HeadIndex head) {
    if (maps_.first_version == first.version() && maps_.second_version == second.version() &&
        maps_.layer == head.layer && maps_.head == head.head)
        return;
    maps_ = {first.version(), second.version(), head.layer, head.head, nullptr, nullptr, nullptr, {}, {}};
    maps_.first = stage_map(first.record(head.layer), head.head, Stage::weight);
    const HeadIndex there = beside(head, second);
    maps_.second = stage_map(second.record(there.layer), there.head, Stage::weight);
    const auto& [query_pairing, key_pairing] = pairings_of(first, second);
    const auto of_first = [](const Pairing& pairing) {
        std::vector<Index> tokens;
        for (const TokenPair& pair : pairing.alignment().pairs()) tokens.push_back(pair.first);
        return tokens;
    };
    const auto of_second = [](const Pairing& pairing) {
        std::vector<Index> tokens;
        for (const TokenPair& pair : pairing.alignment().pairs()) tokens.push_back(pair.second);
        return tokens;
    };
    const auto names = [](const Pairing& pairing, const std::vector<std::string>& a,
                          const std::vector<std::string>& b) {
        std::vector<std::string> out;
        for (const TokenPair& pair : pairing.alignment().pairs())
            out.push_back(a[static_cast<std::size_t>(pair.first)] +
                          (pair.same ? "" : "/" + b[static_cast<std::size_t>(pair.second)]));
        return out;
    };
    maps_.pair_names = names(query_pairing, first.query_names(), second.query_names());
    maps_.key_pair_names = names(key_pairing, first.key_names(), second.key_names());
    if (auto difference =
            attn::difference_map(picked_map(maps_.first, of_first(query_pairing), of_first(key_pairing)),
                                 picked_map(maps_.second, of_second(query_pairing), of_second(key_pairing))))
        maps_.difference = *std::move(difference);
}

std::string CompareLens::spoken(Subject& subject) {
    const Attention &first = *subject.attention(), &second = *subject.second();
    const Selection s = subject.chosen();
    const auto& here = first_reader_.read(first, s.layer, s.head, s.query);
    if (!here) return "";
    const auto partner = pairings_of(first, second).queries.second_of(here->query);
    const HeadIndex other = beside({s.layer, s.head}, second);
    const auto& there =
        second_reader_.read(second, other.layer, other.head, s.counterpart ? s.counterpart : partner);
    if (!there || (!partner && !s.counterpart))
        return here->asks + ", the first " + looks_at(*here) + "; the second has no such word.";
    if (here->looks.empty() || there->looks.empty() || here->looks[0].at != there->looks[0].at)
        return here->asks + ", the first " + looks_at(*here) + "; the second " + looks_at(*there) + ".";
    return here->asks + ", both look most at " + here->looks[0].at + ": the first with " +
           percent(here->looks[0].share) + ", the second with " + percent(there->looks[0].share) + ".";
}

std::string from_difference(const std::string& text, const std::string& other) {
    constexpr int kept_words = 2;
    const auto differ = std::ranges::mismatch(text, other).in1;
    std::size_t from = static_cast<std::size_t>(differ - text.begin());
    // The word that differs begins after the preceding blank.
    for (int words = 0; words <= kept_words && from > 0; ++words) {
        const std::size_t blank = text.rfind(' ', from - 1);
        from = blank == std::string::npos ? 0 : blank;
    }
    return from == 0 ? text : "…" + text.substr(from);
}

bool CompareLens::suits(Subject& subject) const { return subject.may_compare(); }

std::optional<Missing> CompareLens::missing(Subject& subject) const {
    const Attention *first = subject.attention(), *second = subject.second();
    if (!second) {
        if (const auto offer = subject.offer_second()) {
            // The second run is still to come, so there is nothing to offer.
            if (subject_of(state()).has_second && subject_of(state()).has_second(state()))
                return Missing{subject.second_wanted(), subject.offer_alone(), true};
            return Missing{"Comparing needs a second run.", offer};
        }
        return Missing{"Comparing needs a second run, and this one has none to compare with."};
    }
    const auto layers = [](const Attention& run) { return run.numbering(); };
    if (layers(*first).decoder != layers(*second).decoder ||
        (layers(*first).decoder > 0 && first->layers() != second->layers()))
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

}  // namespace attn::app
