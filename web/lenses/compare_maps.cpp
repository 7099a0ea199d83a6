// One head's weights in two sentences: side by side, in turn in one place, or the difference.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "lenses/compare_view.hpp"
#include "maps/map.hpp"
#include "widgets/controls.hpp"
#include "widgets/token_map.hpp"

namespace attn::lenses {

namespace {

constexpr double blink_ms = 800;
constexpr float gap = 24, most_difference = 1;

// All weights of a head in both sentences; another serial whenever they are others.
struct Maps {
    std::uint64_t first_version = 0, second_version = 0;
    Index layer = -1, head = -1;
    std::uint64_t serial = 0;
    std::vector<float> first, second, difference;
    std::vector<std::string> pair_names;
};
Maps maps;

// One map after the other in the same place.
struct Blink {
    bool second = false;
    double turns_at = 0;
};
Blink blink;

void update(const CompareView& view) {
    const app::Selection& s = view.selection();
    if (maps.first_version == view.first.run.version && maps.second_version == view.second.version &&
        maps.layer == s.layer && maps.head == s.head)
        return;
    maps = {view.first.run.version, view.second.version, s.layer, s.head, maps.serial + 3, {}, {}, {}, {}};
    maps.first = cells_of(*stage_map(record_of(view.first.run.trace, s.layer), s.head, Stage::weight));
    maps.second = cells_of(*stage_map(record_of(view.second.trace, s.layer), s.head, Stage::weight));
    maps.difference = weight_difference(view.first.record(), view.second_record(), s.head, view.alignment);
    for (const TokenPair& pair : view.alignment.pairs())
        maps.pair_names.push_back(pair.same
                                      ? view.first.piece(pair.first)
                                      : view.first.piece(pair.first) + "/" + view.second_piece(pair.second));
}

void first_map(CompareView& view, float width, float height) {
    ui::TokenMap map{"compare/map/first",   {&maps, maps.serial},    maps.first.data(), view.first.run.pieces,
                     view.first.run.pieces, ui::sequential_scale(1), view.query(),      view.pointed.key};
    const auto touch = ui::token_map(map, width, height);
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    view.point(query, key);
    view.first.hover.cell = app::CellRef{app::MatrixId::weight, query, key};
    if (!touch.clicked) return;
    view.session().perform(app::Pin{view.first.hover.cell}, ui::gesture());
    view.first.select(query, key);
}

void second_map(CompareView& view, float width, float height) {
    ui::TokenMap map{"compare/map/second", {&maps, maps.serial + 1}, maps.second.data(),
                     view.second.pieces,   view.second.pieces,       ui::sequential_scale(1),
                     view.second_query(),  view.pointed.second_key};
    const auto touch = ui::token_map(map, width, height);
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    view.point_second(query, key);
    view.first.hover.cell = app::CellRef{app::MatrixId::weight, query, key, true};
    if (!touch.clicked) return;
    app::Selection selection = view.selection();
    selection.counterpart = query;
    view.session().perform(app::Pin{view.first.hover.cell}, ui::gesture());
    view.session().perform(app::Select{selection}, ui::gesture());
}

// The place of a token of the first text among the pairs.
std::optional<Index> place_of(const Alignment& alignment, std::optional<Index> token) {
    if (!token) return std::nullopt;
    const auto found = std::ranges::find(alignment.pairs(), *token, &TokenPair::first);
    return found == alignment.pairs().end() ? std::nullopt : std::optional(found - alignment.pairs().begin());
}

// The subtraction of a cell of the difference.
void tell(const CompareView& view, const TokenPair& query, const TokenPair& key) {
    const auto weight = [](const std::vector<float>& values, Index n, Index q, Index k) {
        return static_cast<double>(values[static_cast<std::size_t>(q * n + k)]);
    };
    const double a = weight(maps.first, view.first.tokens(), query.first, key.first),
                 b = weight(maps.second, std::ssize(view.second.pieces), query.second, key.second);
    if (std::isfinite(a) && std::isfinite(b))
        ui::tooltip((app::fixed(a, 4) + " − " + app::fixed(b, 4) + " = " + app::fixed(a - b, 4)).c_str());
}

void difference_map(CompareView& view, float width, float height) {
    const auto& pairs = view.alignment.pairs();
    if (pairs.empty()) return ui::caption("The two sentences have no token that stands for another.");
    ui::TokenMap map{"compare/map/difference",
                     {&maps, maps.serial + 2},
                     maps.difference.data(),
                     maps.pair_names,
                     maps.pair_names,
                     ui::diverging_scale(most_difference),
                     place_of(view.alignment, view.query()),
                     place_of(view.alignment, view.pointed.key)};
    const auto touch = ui::token_map(map, width, height);
    if (touch.over)
        tell(view, pairs[static_cast<std::size_t>(touch.over->row)],
             pairs[static_cast<std::size_t>(touch.over->col)]);
    const ImVec2 at = ImGui::GetCursorScreenPos();
    std::optional<float> marked;
    if (touch.over) marked = map.value(*touch.over);
    ui::colour_bar(at, std::min(width, 260.0f), map.scale, "first − second", marked);
    ImGui::Dummy({width, ui::colour_bar_height});
    const auto left_out = view.first.tokens() + std::ssize(view.second.pieces) - 2 * std::ssize(pairs);
    if (left_out)
        ui::caption((std::to_string(left_out) + (left_out == 1 ? " token has" : " tokens have") +
                     " no counterpart and are left out.")
                        .c_str());
    if (!touch.over) return;
    const TokenPair query = pairs[static_cast<std::size_t>(touch.over->row)],
                    key = pairs[static_cast<std::size_t>(touch.over->col)];
    view.point(query.first, key.first);
    view.first.hover.cell = app::CellRef{app::MatrixId::weight, query.first, key.first};
    if (touch.clicked) {
        view.session().perform(app::Pin{view.first.hover.cell}, ui::gesture());
        view.first.select(query.first, key.first);
    }
}

void caption_of(const char* which, const std::string& text, float width) {
    ui::Type small(ui::Face::regular, ui::size_small);
    ui::draw_text_within(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), width, ui::theme().dim,
                         std::string(which) + ": " + text);
    ImGui::Dummy({1, 20});
}

// Holds still while somebody points at it, and where motion is not wanted.
void blinking(CompareView& view, float width, float height) {
    const double now = app::now_ms();
    const bool held = view.pointed.query || view.session().still();
    if (!held && now >= blink.turns_at) {
        blink.second = !blink.second;
        blink.turns_at = now + blink_ms;
    }
    if (!held) view.session().continue_at(blink.turns_at);
    static constexpr std::array<const char*, 2> names{"first", "second"};
    if (const auto chosen = ui::choice("compare/blink", names, blink.second)) {
        blink.second = *chosen == 1;
        blink.turns_at = now + 3 * blink_ms;
    }
    blink.second ? second_map(view, width, height) : first_map(view, width, height);
}

}  // namespace

void compare_maps(CompareView& view, float width, float most_height) {
    update(view);
    const auto& texts = view.session().state().sentence;
    switch (view.comparison.view) {
        case app::ComparisonView::blink: return blinking(view, width, most_height);
        case app::ComparisonView::difference: return difference_map(view, width, most_height);
        case app::ComparisonView::sides: break;
    }
    const bool beside = width >= 440;
    const float each = beside ? (width - gap) / 2 : width;
    ImGui::BeginGroup();
    caption_of("first", texts.text, each);
    first_map(view, each, most_height);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(each + gap, 0);
    ImGui::BeginGroup();
    caption_of("second", view.comparison.text, each);
    second_map(view, each, most_height);
    ImGui::EndGroup();
}

}  // namespace attn::lenses
