// Draws the terms of a score, what a head among its sources read, and what decides between keys.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "app/format.hpp"
#include "lenses/sources/sources.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::sources {

namespace {

constexpr float terms_share = 0.6f, name_share = 0.66f;
constexpr std::size_t bars_shown = 12;

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.visit.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

// Opens a head among the two sources of a term, the query's first, with the source of the other side. Another
// source with all of the other side is taken out.
void open_term(const Model& model, const Drawing& drawing, Index query_source, Index key_source) {
    const std::array numbers{query_source, key_source};
    for (const ScoreSide side : {ScoreSide::query, ScoreSide::key}) {
        const auto& sources = model.terms->sources(side);
        const auto own = static_cast<std::size_t>(numbers[static_cast<std::size_t>(side)]);
        if (own >= sources.size()) continue;
        const Index partner = numbers[static_cast<std::size_t>(other_side(side))],
                    all = model.terms->all(other_side(side));
        State next = drawing.state().of<State>();
        next.side = side;
        if (sources[own].part == SourcePart::head) {
            next.path = {{sources[own].number, sources[own].head, {}}};
            next.with = partner < all ? std::optional(partner) : std::nullopt;
        } else if (partner == all) {
            next.path.emplace();
            next.out = numbers[static_cast<std::size_t>(side)];
        } else {
            continue;
        }
        return set(drawing, next);
    }
}

// ---- Controls ---------------------------------------------------------------------------------------------

// The step that takes the strongest head of the side out of the run, and compares the same query and key with
// the run before.
std::optional<Offer> taking_out(const Model& model, const Drawing& drawing, Subject& subject) {
    const ScoreSide side = model.of.state.side;
    const auto head = model.is_ready() ? model.terms->strongest_head(side) : std::nullopt;
    if (!head) return std::nullopt;
    const Source& source = model.terms->sources(side)[static_cast<std::size_t>(*head)];
    const TextModel* text_model = subject.text_model();
    const auto step = text_model ? text_model->offer_without({source.number, source.head}) : std::nullopt;
    if (!step) return std::nullopt;
    State next = drawing.state().of<State>();
    next.part = Part::change;
    Selection same = selection_of(drawing);
    same.query = model.of.place.query;
    same.key = model.of.place.key;
    return Offer{"Take " + source_name(subject, source) + " out",
                 Together{{step->command, Select{same}, Set<State>{next}}}};
}

void draw_tries(const Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row tries("sources/try", ui::to_try);
    State next = drawing.state().of<State>();
    const auto offer = [&](const char* name, const char* label, Part part) {
        if (ui::next_button(label) && ui::button(name, label)) next.part = part;
    };
    offer("sources/try/key", "Why not another key", Part::key);
    offer("sources/try/text", "Why in this text and not another", Part::text);
    offer("sources/try/row", "What decides the row", Part::row);
    set(drawing, next);
    if (const auto step = taking_out(model, drawing, subject); step && ui::next_button(step->label))
        if (ui::button("sources/try/out", step->label.c_str())) drawing.visit.perform(step->command);
}

void draw_settings(const Model& model, const Drawing& drawing, Subject& subject) {
    const ui::Row row("sources/settings");
    State next = drawing.state().of<State>();
    static constexpr std::array<const char*, part_count> parts{
        "scaled score", "against a key", "against a text", "before a change", "whole row", "many texts"};
    if (const auto chosen = ui::labelled_choice("show", "sources/part", parts, static_cast<int>(next.part)))
        next.part = static_cast<Part>(*chosen);
    const ScorePlace& at = model.of.place;
    const auto stepper = [&](const char* name, const char* label, const std::string& shown, Index value,
                             Index count) {
        std::optional<Index> to;
        ui::control(ui::need::stepper, [&] {
            to = ui::stepper(name, label, shown, {value - 1, value > 0 ? "" : "This is the first token."},
                             {value + 1, value + 1 < count ? "" : "This is the last token."});
        });
        return to;
    };
    const Attention& attention = *subject.attention();
    if (at.query >= 0)
        if (const auto to = stepper("sources/query", "query", token_name(model, subject, ScoreSide::query),
                                    at.query, attention.queries()))
            parts::choose_tokens(drawing, *to, selection_of(drawing).key);
    if (at.key >= 0)
        if (const auto to = stepper("sources/key", "key", token_name(model, subject, ScoreSide::key), at.key,
                                    attention.keys()))
            parts::choose_tokens(drawing, at.query, *to);
    if (model.of.state.part == Part::key && model.contrasts())
        if (const auto to =
                stepper("sources/against", "against", key_name(subject, at.attention, model.of.against.key),
                        model.of.against.key, attention.keys()))
            next.against = to;
    set(drawing, next);
}

// Offers the step that provides what the part lacks; the lens stays open.
void draw_lacking(const Model& model, const Drawing& drawing, Subject& subject) {
    ui::caption(model.lacking.c_str());
    ui::landmark_item("sources/lacking");
    const auto step = model.of.state.part == Part::change ? taking_out(model, drawing, subject) : model.offer;
    if (step && ui::button("sources/step", step->label.c_str()))
        drawing.visit.perform(Together{{step->command, OpenLens{drawing.state().lens}}});
}

present::BarReply draw_bars(const Drawing& drawing, present::Bars bars, float width) {
    for (const ui::Bar& each : bars.bars) bars.most = std::max(bars.most, std::abs(each.value));
    const bool falls = std::ranges::any_of(bars.bars, [](const ui::Bar& each) { return each.value < 0; });
    bars.scale = falls ? ui::diverging_scale(bars.most) : ui::sequential_scale(bars.most);
    bars.most_name = width * name_share;
    return present::bars(drawing, bars, width);
}

void draw_terms(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Sheet terms = terms_sheet(model, subject, false);
    const auto open = [&](Index r, Index c) {
        const auto at = terms.cell(r, c)->own()->at;
        open_term(model, drawing, at[0], at[1]);
    };
    const auto clicked =
        present::sheet(drawing, terms, width, {}, {}, [&](Index r) { open(r, terms.columns.size() - 1); });
    if (clicked) open(clicked->first, clicked->second);
    const double run = model.of.place.score(), sum = model.terms->sum();
    ui::caption(
        (std::string(model.contrasts() ? "The terms of the first add up to " : "The terms add up to ") +
         fixed(sum, 5) + ", and the run’s scaled score is " + fixed(run, 5) + ": the error is " +
         fixed(std::abs(sum - run), 1) +
         ". Norms and the patterns of earlier heads are held at what they are in this text.")
            .c_str());
    ui::landmark_item("sources/error");
}

void draw_strongest(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const ScoreTerms& terms = *model.terms;
    present::Bars bars{.key = "sources/strongest",
                       .title = "Strongest terms",
                       .notation = "source at " + token_name(model, subject, ScoreSide::query) +
                                   " × source at " + token_name(model, subject, ScoreSide::key),
                       .value = "term",
                       .most = 0};
    double rest = terms.total();
    for (const ScoreTerms::Term& each : terms.listed()) {
        rest -= each.value;
        const auto named = [&](ScoreSide side, Index which) {
            return source_name(subject, terms.sources(side)[static_cast<std::size_t>(which)]);
        };
        bars.bars.push_back({named(ScoreSide::query, each.query) + " × " + named(ScoreSide::key, each.key),
                             static_cast<float>(each.value), signed_number(each.value)});
    }
    const Index all = terms.all(ScoreSide::query) * terms.all(ScoreSide::key),
                count = std::ssize(terms.listed());
    if (all > count)
        bars.bars.push_back({"all " + many(all - count, "other"), static_cast<float>(rest),
                             signed_number(rest), false, true});
    bars.cell = [&](Index bar) -> std::optional<CellRef> {
        if (bar >= count) return std::nullopt;
        const ScoreTerms::Term& each = terms.listed()[static_cast<std::size_t>(bar)];
        return cells::term(each.query, each.key);
    };
    const auto clicked = draw_bars(drawing, bars, width).clicked;
    if (!clicked || *clicked >= count) return;
    const ScoreTerms::Term& chosen = terms.listed()[static_cast<std::size_t>(*clicked)];
    open_term(model, drawing, chosen.query, chosen.key);
}

// Draws the way to the parts on screen: each step is a button that goes back to it.
void draw_way(const Model& model, const Drawing& drawing, Subject& subject) {
    State next = drawing.state().of<State>();
    const auto step = [&](const std::string& name, const std::string& label, std::size_t length, bool reads) {
        if (!ui::next_button(label) || !ui::button(("sources/way/" + name).c_str(), label.c_str())) return;
        next.path.emplace(model.path.begin(), model.path.begin() + static_cast<std::ptrdiff_t>(length));
        if (length > 0 && !reads) next.path->back().token.reset();
    };
    for (std::size_t i = 0; i < model.path.size(); ++i) {
        const OpenedHead& each = model.path[i];
        const std::string number = std::to_string(2 * i), after = std::to_string(2 * i + 1);
        step(number, source_name(subject, each.source()), i + 1, false);
        if (each.token) step(after, key_name(subject, each.number, *each.token), i + 1, true);
    }
    step("close", "Close", 0, false);
    set(drawing, next);
}

void draw_opened(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    if (model.path.empty() || !model.opened) return;
    const OpenedHead& last = model.path.back();
    const auto part_at = [&](Index part) -> const OpenedTerm::Part& {
        return model.opened->parts()[static_cast<std::size_t>(part)];
    };
    std::vector<std::pair<double, Index>> parts;
    double kept = 0;
    for (Index part = 0; part < std::ssize(model.opened->parts()); ++part)
        kept += parts.emplace_back(model.opened->value(part_at(part)), part).first;
    std::ranges::sort(parts, std::greater(), [](const auto& each) { return std::abs(each.first); });
    parts.resize(std::min(parts.size(), bars_shown));
    const double whole = model.opened->whole();
    const bool is_whole = model.path.size() == 1 && !last.token;
    const auto share = [&](double value) { return whole == 0 ? "" : "   " + percent(value / whole); };
    const std::string head = source_name(subject, last.source()),
                      word = model.path.size() == 1
                                 ? token_name(model, subject, model.of.state.side)
                                 : key_name(subject, model.path[model.path.size() - 2].number,
                                            reading_token(model));
    present::Bars bars{
        .key = "sources/opened",
        .title = (last.token ? "What " + head + " read from " + key_name(subject, last.number, *last.token)
                             : "What " + head + " brought to " + word) +
                 ": " + signed_number(kept) + (is_whole ? "" : " of " + signed_number(whole) + share(kept)),
        .notation = last.token ? "sources of the token. Click a head to open it"
                               : "tokens that it read from. Click one to open it",
        .value = model.contrasts() ? "part of the difference" : "part of the scaled score",
        .most = 0,
        .cell = [&](Index bar) { return cells::opened(parts[static_cast<std::size_t>(bar)].second); },
        .controls = [&] { draw_way(model, drawing, subject); }};
    for (const auto& [value, part] : parts)
        bars.bars.push_back({part_name(model, subject, part_at(part)), static_cast<float>(value),
                             signed_number(value) + share(value)});
    const auto clicked = draw_bars(drawing, bars, width).clicked;
    if (std::ranges::any_of(model.opened->parts(), &OpenedTerm::Part::is_of_other_run))
        ui::caption("A word that only the other text has opens there: make that text the first.");
    if (!clicked) return;
    const auto& chosen = part_at(parts[static_cast<std::size_t>(*clicked)].second);
    const Source& part = chosen.source;
    State next = drawing.state().of<State>();
    next.path = model.path;
    if (!last.token && part.token >= 0)
        next.path->back().token = part.token;
    else if (part.part == SourcePart::head)
        next.path->push_back({part.number, part.head, {}});
    set(drawing, next);
}

void draw_shares(const Drawing& drawing, Subject& subject, std::span<const DecidingSource> shares,
                 const CellKind& kind, float width) {
    present::Bars bars{.key = "sources/" + std::string(kind.name),
                       .title = "What decides between the keys",
                       .notation = "share of the variance of the scaled scores; all shares add up to 1",
                       .value = "share",
                       .most = 0};
    const std::size_t count = std::min(bars_shown, shares.size());
    bars.cell = [&kind, count](Index bar) {
        return bar < static_cast<Index>(count) ? std::optional(kind(bar)) : std::nullopt;
    };
    double rest = 1;
    for (const DecidingSource& each : shares.first(count)) {
        rest -= each.share;
        bars.bars.push_back(
            {source_name(subject, each.source), static_cast<float>(each.share), percent(each.share)});
    }
    if (shares.size() > count)
        bars.bars.push_back({"all " + many(static_cast<Index>(shares.size() - count), "other"),
                             static_cast<float>(rest), percent(rest), false, true});
    if (!shares.empty()) draw_bars(drawing, bars, width);
}

void draw_pictures(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const auto beside = [&](float share, auto&& left, auto&& right) {
        ui::unequal_columns(share, present::card_gap, "sources/left", left, "sources/right", right);
    };
    if (model.of.state.part == Part::row) {
        if (!model.row->done() || model.row->deciding().empty()) return;
        beside(
            1 - terms_share,
            [&](float w) { draw_shares(drawing, subject, model.row->deciding(), cells::deciding, w); },
            [&](float w) { present::sheet(drawing, added_sheet(model, subject), w); });
    } else if (model.of.state.part == Part::texts) {
        if (!model.texts || !model.texts->done()) return;
        const auto& means = model.texts->means();
        const std::vector<DecidingSource> shares(means.begin(), means.end());
        draw_shares(drawing, subject, shares, cells::texts, width);
    } else if (model.is_ready()) {
        beside(
            terms_share, [&](float w) { draw_terms(model, drawing, subject, w); },
            [&](float w) {
                draw_strongest(model, drawing, subject, w);
                if (model.without) present::sheet(drawing, without_sheet(model, subject), w);
            });
        draw_opened(model, drawing, subject, width);
    }
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint("Click a head’s term to see what it read; click the total of another source to take it out.");
    if (ui::settings()) {
        draw_tries(model, drawing, subject);
        draw_settings(model, drawing, subject);
    }
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step()) continue;
    if (TextModel* texts = subject.text_model(); texts && model.of.state.part == Part::texts)
        texts->draw_corpus();
    if (!model.lacking.empty()) draw_lacking(model, drawing, subject);
    if (model.refused.empty()) draw_pictures(model, drawing, subject, ImGui::GetContentRegionAvail().x);
    if (model.step())
        drawing.visit.continue_with([&model, of = model.of] { return model.of == of && model.step(); });
}

}  // namespace attn::app::sources
