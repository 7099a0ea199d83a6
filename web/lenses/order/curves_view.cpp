// Draws RoPE as dials, and the scores over distance.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/order/order.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::order {

namespace {

constexpr Index pairs_shown = 32;
constexpr float dial = 58, dial_text = 18, chart_height = 330, least_chart = 360;
constexpr ImVec2 dial_gap{10, 10};

ImU32 q_hand_colour() { return ui::series_colour(0); }
ImU32 k_hand_colour() { return ui::series_colour(1); }

Table table_of(const std::string& title, std::span<const PairRotation> turns) {
    Table table{title, {"|q|", "angle of q", "|k|", "angle of k", "adds"}, {}, Matrix(std::ssize(turns), 5)};
    auto next = table.values.values.begin();
    for (const PairRotation& turn : turns) {
        table.row_labels.push_back("pair " + std::to_string(table.row_labels.size()));
        next = std::ranges::copy(
                   std::array{turn.q_length, turn.q_angle, turn.k_length, turn.k_angle, turn.product}, next)
                   .out;
    }
    return table;
}

void draw_hands_legend() {
    const ui::Type mono(ui::Face::mono, 12);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const auto entry = [&](float x, ImU32 colour, const char* text) {
        list->AddRectFilled({at.x + x, at.y + 6}, {at.x + x + 10, at.y + 9}, colour, 1.5f);
        ui::draw_text(list, {at.x + x + 14, at.y}, ui::theme().dim, text);
    };
    entry(0, q_hand_colour(), "q");
    entry(38, k_hand_colour(), "k");
    ImGui::Dummy({76, 18});
}

// Returns whether the mouse is over the dial; the length of a hand is its share of the longest.
bool draw_dial(ui::Lines& lines, Index pair, const PairRotation& turn, double longest, bool lit) {
    const ui::Theme& t = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 at = lines.place({dial, dial + dial_text}), max{at.x + dial, at.y + dial + dial_text},
                 centre{at.x + dial / 2, at.y + dial / 2};
    const std::string key = "order/dial/" + std::to_string(pair), number = fixed(turn.product, 3);
    const bool hovered = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, max);
    list->AddCircleFilled(centre, dial / 2 - 1, lit ? t.accent_soft : hovered ? t.raised : t.surface, 48);
    list->AddCircle(centre, dial / 2 - 1, lit ? t.accent : t.border, 48);
    const auto hand = [&](double length, double angle, ImU32 colour) {
        const float reach = longest > 0 ? static_cast<float>(length / longest) * (dial / 2 - 4) : 0.0f;
        const ImVec2 end{centre.x + reach * static_cast<float>(std::cos(angle)),
                         centre.y - reach * static_cast<float>(std::sin(angle))};
        list->AddLine(centre, end, colour, 2.5f);
        list->AddCircleFilled(end, 2.5f, colour);
    };
    hand(turn.k_length, turn.k_angle, k_hand_colour());
    hand(turn.q_length, turn.q_angle, q_hand_colour());
    const ui::Type mono(ui::Face::mono, 12);
    ui::draw_text(list, {centre.x - ui::text_size(number).x / 2, at.y + dial + 2}, t.text, number);
    ui::landmark(key, at, max);
    ui::semantic_place(ui::Role::option, key, "pair " + std::to_string(pair) + ": " + number, at, max).on =
        lit;
    return hovered;
}

// The curves for each length scaling: the scores over distance, and each pair's number of positions per turn.
struct LengthPictures {
    std::vector<ui::ChartCurve> scores, waves;
    double shortest_wave = HUGE_VAL, longest_wave = 0;
};

LengthPictures pictures_of(const LengthCurves& curves) {
    LengthPictures out;
    const Index pairs = std::ssize(curves.frequencies(0));
    for (std::size_t kind = 0; kind < length_scalings; ++kind) {
        ui::ChartCurve score{.name = scaling_names[kind], .colour = ui::series_colour(kind)};
        ui::ChartCurve wave = score;
        for (Index bin = 0; bin < curves.bins_done(); ++bin) {
            const LengthCurves::Bin& found = curves.bin(kind, bin);
            score.add(static_cast<double>(curves.first_distance(bin)), found.mean);
            score.notes.push_back("from " + fixed(found.low, 4) + " to " + fixed(found.high, 4));
        }
        for (const double frequency : curves.frequencies(kind)) {
            wave.add(static_cast<double>(wave.x.size()), wavelength(frequency));
            out.shortest_wave = std::min(out.shortest_wave, wave.y.back());
            out.longest_wave = std::max(out.longest_wave, wave.y.back());
        }
        wave.points = pairs <= 32;
        out.scores.push_back(std::move(score));
        out.waves.push_back(std::move(wave));
    }
    return out;
}

// The tokens, and how far the query has moved on.
void draw_pair_controls(Model& model, const Drawing& drawing, Subject& subject) {
    const auto step = [](const char* key, const char* label, const Tokens& tokens) {
        const Index token = tokens.chosen;
        return ui::stepper(key, label, curly_quoted(tokens.chosen_name()),
                           {token - 1, token > 0 ? "" : "This is the first token in view."},
                           {token + 1, token + 1 < tokens.size() ? "" : "This is the last token in view."});
    };
    ImGui::BeginGroup();
    if (const auto to = step("order/query", "query", model.queries))
        parts::choose_tokens(drawing, model.queries.in_view.begin + *to, selection_of(drawing).key);
    ImGui::EndGroup();
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto to = step("order/key", "key", model.keys))
        parts::choose_tokens(drawing, selection_of(drawing).query, model.keys.in_view.begin + *to);
    ImGui::EndGroup();
    State next = model.state;
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto turn =
            ui::slider("order/turn", "move the query on by", static_cast<double>(next.turn), 0, 256, "%.0f"))
        next.turn = std::clamp(static_cast<Index>(std::lround(*turn)), Index{0}, turn_limit);
    ImGui::EndGroup();
    ui::next_control(ui::need::named_choices);
    static constexpr std::array pairings{"(a, a + d/2)", "(2a, 2a + 1)"};
    if (const auto chosen = ui::labelled_choice("pairs", "order/pairs", pairings, next.interleaved ? 1 : 0))
        next.interleaved = *chosen == 1;
    set(model, drawing, subject, next);
}

void draw_dials(Model& model, const Drawing& drawing, Subject& subject) {
    ui::section("RoPE, pair by pair");
    const UnplacedRows& content = *model.content;
    const Index pairs = std::ssize(content.frequencies()), shown = std::min(pairs, pairs_shown);
    if (pairs == 0) return ui::caption("A single component has no partner to be turned with.");
    draw_pair_controls(model, drawing, subject);
    const PositionRule rule = model.rule(PositionScheme::rotary);
    const std::vector<double> q = content.row(Stage::q, model.queries.chosen),
                              k = content.row(Stage::k, model.keys.chosen);
    const Index p = model.query_position(), r = model.key_position();
    const double rest = content.d_k() % 2 == 1 ? q.back() * k.back() : 0;
    std::vector<PairRotation> turns;
    double sum = rest, longest = 0;
    for (Index a = 0; a < pairs; ++a) {
        turns.push_back(pair_rotation(rule, a, q, p, k, r));
        sum += turns.back().product;
        longest = std::max({longest, turns.back().q_length, turns.back().k_length});
    }
    std::string text =
        "One hand of q and one of k for each pair of components, turned by position · θ; what the pair "
        "adds is |q| |k| cos of the angle between them. " +
        curly_quoted(model.queries.chosen_name()) + " at " + with_commas(p) + ", " +
        curly_quoted(model.keys.chosen_name()) + " at " + with_commas(r) + ": together " + four(sum) +
        ", scaled " + four(content.score(sum)) + ".";
    if (shown < pairs)
        text += " The first " + std::to_string(shown) + " of " + std::to_string(pairs) + " pairs are shown.";
    if (rest != 0) text += " The last component has no partner and adds " + four(rest) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("order/dials");

    const std::string title = "What each pair adds to q · k";
    turns.resize(static_cast<std::size_t>(shown));
    const present::Card card(
        drawing,
        {.key = "order/dial", .title = title, .table = [title, turns] { return table_of(title, turns); }},
        ImGui::GetContentRegionAvail().x);
    draw_hands_legend();
    const ui::SemanticGroup group(ui::Role::listbox, "order/dial", title);
    ui::Lines lines(card.width(), dial_gap);
    std::optional<Index> over;
    for (Index a = 0; a < shown; ++a)
        if (draw_dial(lines, a, turns[static_cast<std::size_t>(a)], longest,
                      drawing.state().pin == cells::rotary_pair(a)))
            over = a;
    lines.finish();
    if (const auto asked = ui::asked_place("order/dial/"); asked && asked->col < shown) over = asked->col;
    if (!over) return;
    drawing.now.cell = cells::rotary_pair(*over);
    if (ui::clicked()) present::pin(drawing, *drawing.now.cell);
}

void draw_distance_controls(Model& model, const Drawing& drawing, Subject& subject) {
    State next = model.state;
    ui::next_control(ui::need::choices);
    ImGui::BeginGroup();
    static constexpr std::array contents{"the query and key above", "mean of these tokens"};
    if (const auto chosen = ui::choice("order/content", contents, next.mean ? 1 : 0))
        next.mean = *chosen == 1;
    ImGui::EndGroup();
    ui::next_control(ui::need::choices);
    static constexpr std::array<Index, 3> reaches{32, 128, reach_limit};
    static constexpr std::array names{"32", "128", "512"};
    if (const auto chosen =
            ui::labelled_choice("up to", "order/reach", names,
                                static_cast<int>(std::ranges::find(reaches, next.reach) - reaches.begin())))
        next.reach = reaches[static_cast<std::size_t>(*chosen)];
    set(model, drawing, subject, next);
}

void draw_distances(Model& model, const Drawing& drawing, Subject& subject) {
    ui::section("Score against distance", true);
    draw_distance_controls(model, drawing, subject);
    const DistanceCurves& curves = model.curves().distances;
    std::vector<ui::ChartCurve> drawn;
    for (const PositionScheme scheme : model.offered()) {
        const auto s = static_cast<std::size_t>(scheme);
        ui::ChartCurve& curve =
            drawn.emplace_back(ui::ChartCurve{.name = std::string(scheme_name(scheme)),
                                              .colour = s == 0 ? ui::theme().dim : ui::series_colour(s - 1),
                                              .y = curves.scores(scheme),
                                              .dashed = s == 0});
        for (std::size_t d = 0; d < curve.y.size(); ++d) curve.x.push_back(static_cast<double>(d));
    }
    State next = model.state;
    // A query before its key has no distance on this axis.
    const Index apart = model.query_position() - model.key_position();
    const bool on_axis = apart >= 0 && apart <= next.reach;
    const ui::Chart chart{.name = "order-distance",
                          .title = next.mean ? "Mean q and mean k"
                                             : "q of " + curly_quoted(model.queries.chosen_name()) +
                                                   ", k of " + curly_quoted(model.keys.chosen_name()),
                          .x = {"distance, positions", 0, static_cast<double>(next.reach), false, true},
                          .y = ui::fitted("score", drawn, false),
                          .marked = on_axis ? std::optional(static_cast<double>(apart)) : std::nullopt};
    const ui::ChartReply reply = present::chart(
        drawing, chart, ImGui::GetContentRegionAvail().x, chart_height, drawn,
        [](std::size_t scheme, std::size_t distance) { return cells::score_at_distance(scheme, distance); });
    if (reply.held) {
        // The query moves to this distance from the key, if that is after its own place.
        next.turn = std::clamp(static_cast<Index>(std::lround(*reply.held)) - apart + next.turn, Index{0},
                               turn_limit);
        set(model, drawing, subject, next);
    }
    ui::caption(("The key stands at position 0 and the query a distance after it; " +
                 std::string(on_axis     ? "the line is how far apart they stand now. "
                             : apart < 0 ? "now the query stands before the key, which is not on this axis. "
                                         : "now they stand farther apart than the axis goes. ") +
                 (model.content->own_table() ? "The numbers of T5 buckets are"
                                             : "The learned table and the numbers of T5 buckets are") +
                 " drawn from seed " + std::to_string(next.seed) + ".")
                    .c_str());
}

void draw_length_controls(Model& model, const Drawing& drawing, Subject& subject) {
    State next = model.state;
    ImGui::BeginGroup();
    if (const auto length = ui::slider("order/trained", "trained on", static_cast<double>(model.trained()),
                                       16, 131'072, "%.0f", true))
        next.trained = std::clamp(static_cast<Index>(std::lround(*length)), Index{1}, trained_limit);
    ImGui::EndGroup();
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto factor = ui::stepper("order/factor", "times as long", next.factor, 1, factor_limit))
        next.factor = *factor;
    ImGui::EndGroup();
    set(model, drawing, subject, next);
}

void draw_lengths(Model& model, const Drawing& drawing, Subject& subject) {
    ui::section("Beyond the trained length");
    const Index pairs = std::ssize(model.content->frequencies());
    if (pairs == 0) return ui::caption("RoPE has nothing to turn here: a single component has no partner.");
    draw_length_controls(model, drawing, subject);
    const LengthCurves& curves = model.curves().lengths;
    State next = model.state;
    const auto trained = static_cast<double>(model.trained());
    auto [scores, waves, shortest_wave, longest_wave] = pictures_of(curves);
    // The line's ends lie outside the chart, so that nobody can hover over them.
    const auto line = [](std::vector<double> x, std::vector<double> y) {
        return ui::ChartCurve{
            .colour = ui::theme().text, .x = std::move(x), .y = std::move(y), .dashed = true};
    };
    const ui::ChartAxis score_axis = ui::fitted("score", scores, false);
    const auto last = static_cast<double>(std::max(pairs - 1, Index{1}));
    const double tall = score_axis.high - score_axis.low;
    scores.push_back(line({trained, trained}, {score_axis.low - tall, score_axis.high + tall}));
    waves.push_back(line({-last, 2 * last}, {trained, trained}));
    const auto cells_of = [](const CellKind& kind) {
        return [&kind](std::size_t curve, std::size_t point) {
            return curve < length_scalings ? std::optional(kind(curve, point)) : std::nullopt;
        };
    };
    ui::columns(
        "order/lengths", least_chart, present::card_gap,
        [&](float width) {
            const ui::Chart chart{
                .name = "order-length",
                .title = "Score over distance, " + std::to_string(next.factor) + " times the trained length",
                .x = {"distance, positions", 0, trained * static_cast<double>(next.factor), false, true},
                .y = score_axis,
                .marked = next.far > 0 ? static_cast<double>(next.far) : trained};
            const ui::ChartReply reply = present::chart(drawing, chart, width, chart_height, scores,
                                                        cells_of(cells::extrapolated_score));
            if (reply.held) next.far = std::max(static_cast<Index>(std::lround(*reply.held)), Index{1});
            ui::caption(("Dashed: the trained length. Each point is the mean of " +
                         std::to_string(curves.samples()) +
                         " distances in a row; point at it for their range.")
                            .c_str());
        },
        [&](float width) {
            const ui::Chart chart{
                .name = "order-wavelength",
                .title = "Wavelength of each pair",
                .x = {"pair", 0, last, false, true},
                .y = {"positions a turn", shortest_wave / 1.2, std::max(longest_wave, trained) * 1.2, true},
                .marked = static_cast<double>(std::min(next.pair, pairs - 1))};
            const ui::ChartReply reply =
                present::chart(drawing, chart, width, chart_height, waves, cells_of(cells::wavelength));
            if (reply.held)
                next.pair = std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{0}, pairs - 1);
            ui::caption("A pair above the dashed line never came round in training.");
        });
    set(model, drawing, subject, next);
}

}  // namespace

void draw_curves(Model& model, const Drawing& drawing, Subject& subject) {
    draw_dials(model, drawing, subject);
    draw_distances(model, drawing, subject);
    draw_lengths(model, drawing, subject);
    if (!model.curves().done())
        drawing.visit.continue_with([&model, of = model.curves_of()] {
            return model.content && model.curves_of() == of && model.curves().step();
        });
}

}  // namespace attn::app::order
