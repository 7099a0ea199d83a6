#include "lenses/sources/sources.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "app/link_text.hpp"
#include "subjects/chosen_row.hpp"

namespace attn::app::sources {

namespace {

constexpr std::array<std::string_view, part_count> part_words{"score",  "key", "text",
                                                              "change", "row", "texts"};
constexpr std::array<std::string_view, 2> side_words{"query", "key"};
constexpr std::array<std::string_view, 3> path_examples{"1.3", "2.0.8-1.3", "none"};
constexpr std::size_t deepest = 8;

// Writes opened heads as "2.0.8-1.3": head 0 of attention 2, its token 8, and there head 3 of attention 1.
std::string write_path(const std::vector<OpenedHead>& path) {
    std::string text;
    for (const OpenedHead& each : path)
        text += (text.empty() ? "" : "-") + std::to_string(each.number) + "." + std::to_string(each.head) +
                (each.token ? "." + std::to_string(*each.token) : "");
    return text.empty() ? "none" : text;
}

std::optional<std::vector<OpenedHead>> read_path(std::string_view text) {
    std::vector<OpenedHead> path;
    if (text == "none") return path;
    for (const std::string_view part : split(text, '-')) {
        std::vector<Index> numbers;
        for (const std::string_view number : split(part, '.')) {
            const auto read = read_integer<Index>(number);
            if (!read || !Range{0, position_limit}.holds(*read)) return std::nullopt;
            numbers.push_back(*read);
        }
        const bool fits = numbers.size() == 2 || numbers.size() == 3;
        if (!fits || path.size() == deepest || (!path.empty() && !path.back().token)) return std::nullopt;
        path.push_back({numbers[0], numbers[1], {}});
        if (numbers.size() == 3) path.back().token = numbers[2];
    }
    return path;
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"sources.part", "sources: {}", named<&S::part>(part_words)},
        {"sources.against",
         {"against key {}", "against the next strongest key"},
         whole<&S::against>("key", 0, position_limit - 1)},
        {"sources.open",
         {"opened: {}", "the strongest head opened"},
         named<&S::side>(side_words),
         spelled<&S::path, read_path, write_path>("opened head", path_examples),
         whole<&S::with>("source", 0, position_limit - 1)},
        {"sources.without",
         {"without source {}", "without the strongest source"},
         whole<&S::out>("source", 0, position_limit - 1)},
    };
    static const Fields<S> fields{.all = all, .normalise = [](S& s) {
                                      if (!s.path || s.path->empty()) s.with.reset();
                                      if (!s.path || !s.path->empty()) s.out.reset();
                                  }};
    return fields;
}
LinkRows links() { return {rows_of_fields<State, 4>()}; }

// ---- Inputs -----------------------------------------------------------------------------------------------

std::optional<Missing> Model::missing(Subject& subject) {
    if (subject.attention()->trace()) return std::nullopt;
    return Missing{"The sources of a score need a whole model; here is only a head’s attention."};
}

void Model::choose_place(Subject& subject) {
    const HeadIndex head = subject.chosen_head();
    ScorePlace& place = of.place;
    place = {subject.attention()->trace(), head.layer, head.head, chosen_query(subject), -1};
    const Record& record = place.record();
    if (place.query < 0) return void(refused = "There is no query here. Type a text.");
    const std::vector<float> weights = record.weights(place.head, place.query);
    const Index strongest = heaviest_key(weights);
    const auto chosen = subject.chosen().key;
    place.key = chosen && *chosen < record.keys() ? *chosen : strongest;
    if (std::ranges::any_of(weights, [](float each) { return !std::isfinite(each); }) ||
        (place.key >= 0 && !std::isfinite(place.score())))
        refused = "The scores of this row are not finite, so they have no sources.";
    else if (strongest < 0)
        refused = "The mask hides every key from this query. Choose another query.";
}

void Model::find_other(Subject& subject) {
    OtherScore other;
    if (of.state.part == Part::key) other = with_other_key(of.place, of.state.against);
    if (of.state.part == Part::text) other = in_second_text(subject, of.place, pairings);
    if (of.state.part == Part::change) other = before_changes(subject, of.place);
    lacking = std::move(other.lacking);
    offer = std::move(other.offer);
    if (other.place.trace) of.against = std::move(other.place);
}

void Model::update(Visit& visit, Subject& subject) {
    const Key before = std::exchange(of, {{}, {}, visit.state().of<State>()});
    refused.clear();
    lacking.clear();
    offer.reset();
    choose_place(subject);
    if (refused.empty()) find_other(subject);
    const CorpusRun* corpus = of.state.part == Part::texts ? corpus_of(subject) : nullptr;
    if (corpus && corpus->done() && !corpus->traces().empty())
        of.texts = corpus->version();
    else if (of.state.part == Part::texts)
        lacking = !corpus ? "There are no other texts for this model here. Look at the whole row instead."
                  : corpus->done()
                      ? "None of the texts has a token of this model. Type others."
                      : "Running the texts, " + percent(static_cast<double>(corpus->progress())) + ".";
    if (of == before) return;
    if (terms && !(refused.empty() && of.place == before.place && of.against == before.against))
        terms.reset();
    opened.reset();
    without.reset();
    ScorePlace whole_row = of.place;
    whole_row.key = -1;
    if (row && row->place() != whole_row) row.reset();
    if (of.texts != before.texts || of.place.attention != before.place.attention ||
        of.place.head != before.place.head)
        texts.reset();
    if (!refused.empty()) return;
    if (!terms) terms.emplace(of.place, contrasts() ? std::optional(of.against) : std::nullopt);
    if (of.state.part == Part::row && !row) row.emplace(whole_row);
    if (of.texts != 0 && !texts) texts.emplace(corpus->traces(), of.place.attention, of.place.head);
    choose_path();
}

// ---- Computing --------------------------------------------------------------------------------------------

bool Model::step() {
    if (!refused.empty()) return false;
    if (of.state.part == Part::row && row->step()) return true;
    if (of.state.part == Part::texts && texts && texts->step()) return true;
    if (!is_ready()) {
        if (!terms->step()) choose_path();
        return true;
    }
    if (!opened && !path.empty()) {
        opened.emplace(*terms, of.state.side, path, of.state.with, other_token(of.place, of.against));
        return true;
    }
    if (without) return false;
    without.emplace(*terms, of.state.side, taken_out());
    return true;
}

void Model::choose_path() {
    path.clear();
    if (!is_ready()) return;
    const ScoreSide side = of.state.side;
    if (of.state.path) {
        path = existing_path(*terms, side, *of.state.path, other_token(of.place, of.against));
    } else if (const auto head = terms->strongest_head(side)) {
        const Source& source = terms->sources(side)[static_cast<std::size_t>(*head)];
        path = {{source.number, source.head, {}}};
    }
}

Index Model::taken_out() const {
    const ScoreSide side = of.state.side;
    if (!path.empty()) return same_source(terms->sources(side), path.front().source());
    const bool exists = of.state.out && *of.state.out < terms->all(side);
    return exists ? *of.state.out : terms->strongest(side).front();
}

}  // namespace attn::app::sources
