// How one word came to look at another: its q, the other's k, their product, and the way to the weight.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/sentence_view.hpp"
#include "widgets/bars.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/vector_strip.hpp"

namespace attn::lenses {

namespace {

using app::CellRef;
using app::MatrixId;

constexpr Index most_bars = 6;
constexpr float name_width = 40, strip_gap = 6;

std::string number(float value, int decimals = 4) { return app::fixed(static_cast<double>(value), decimals); }

std::span<const float> row_of(const Tensor& tensor, Index head, Index row) {
    const ConstMatrix m = tensor.heads().head(head);
    return {m.row(row), static_cast<std::size_t>(m.cols)};
}

float extent(std::span<const float> values) {
    float most = 0;
    for (const float v : values) most = std::max(most, std::abs(v));
    return most;
}

struct Strips {
    std::span<const float> q, k;
    std::vector<float> product;
};

// q, k and q × k under each other; the component under the mouse is lit in all three.
void draw_strips(SentenceView& view, float width, Index query, Index key) {
    const Record& record = view.record();
    const Index head = view.selection().head;
    Strips v{row_of(record.q(), head, query), row_of(record.k(), record.kv_head(head), key), {}};
    for (std::size_t a = 0; a < v.q.size(); ++a) v.product.push_back(v.q[a] * v.k[a]);
    const ui::ColourScale vectors = ui::diverging_scale(std::max(extent(v.q), extent(v.k)));
    const ui::ColourScale products = ui::diverging_scale(extent(v.product));

    static std::optional<Index> lit;  // in the frame before
    std::optional<Index> over;
    const ui::StripLayout layout(record.d_k(), width - name_width);
    struct Row {
        const char* name;
        std::span<const float> values;
        const ui::ColourScale& scale;
        MatrixId matrix;
        Index row;
    };
    const std::array<Row, 3> rows{{{"q", v.q, vectors, MatrixId::q, query},
                                   {"k", v.k, vectors, MatrixId::k, key},
                                   {"q × k", v.product, products, MatrixId::raw, query}}};
    for (const Row& row : rows) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        {
            ui::Type mono(ui::Face::mono, ui::size_small);
            ui::draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + 1}, ui::theme().dim, row.name);
        }
        const auto found =
            ui::vector_strip(std::string("ladder/") + (row.matrix == MatrixId::raw ? "product" : row.name),
                             {at.x + name_width, at.y}, layout, row.values, row.scale, lit);
        if (found) {
            over = found;
            const bool product = row.matrix == MatrixId::raw;
            view.hover.cell = CellRef{row.matrix, row.row, product ? key : *found};
            if (clicked()) view.session.perform(app::Pin{view.hover.cell}, ui::gesture());
        }
        ImGui::Dummy({width, layout.height() + strip_gap - ImGui::GetStyle().ItemSpacing.y});
    }
    lit = over;

    ui::Type mono(ui::Face::mono, ui::size_small);
    if (over) {
        const auto a = static_cast<std::size_t>(*over);
        ImGui::TextUnformatted(("component " + std::to_string(a) + ":  " + number(v.q[a]) + " × " +
                                number(v.k[a]) + " = " + number(v.product[a]))
                                   .c_str());
    } else {
        ImGui::TextColored(
            ImGui::ColorConvertU32ToFloat4(ui::theme().dim), "%s",
            (std::to_string(record.d_k()) + " components; their products add up to the score").c_str());
    }
}

// score → scaled → weight, each as a small card with the step that leads to it.
void draw_steps(SentenceView& view, float width, Index query, Index key) {
    const Record& record = view.record();
    const Index head = view.selection().head;
    const bool allowed = view.allows(query, key);
    struct Step {
        MatrixId matrix;
        const char* name;
        std::string value;
    };
    std::vector<Step> steps{{MatrixId::raw, "Σ q × k", number(record.cell(Stage::raw, head, query, key))},
                            {MatrixId::scaled, "", number(record.cell(Stage::scaled, head, query, key))}};
    const std::string scaling = "× " + app::fixed(static_cast<double>(record.scale()), 4);
    steps[1].name = scaling.c_str();
    if (record.spec().softcap > 0)
        steps.push_back({MatrixId::capped, "capped", number(record.cell(Stage::capped, head, query, key))});
    steps.push_back({MatrixId::weight, allowed ? "softmax" : "masked",
                     number(record.cell(Stage::weight, head, query, key))});

    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    constexpr float arrow = 22, height = 46;
    const auto count = static_cast<float>(steps.size());
    const float card = std::min((width - arrow * (count - 1)) / count, 120.0f);
    ImVec2 at = corner;
    for (const Step& step : steps) {
        const ImVec2 max{at.x + card, at.y + height};
        const bool over = ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, max);
        list->AddRectFilled(at, max, over ? ui::theme().hovered : ui::theme().raised, 6);
        {
            ui::Type small(ui::Face::regular, ui::size_small);
            ui::draw_text_within(list, {at.x + 10, at.y + 5}, card - 14, ui::theme().dim, step.name);
        }
        {
            ui::Type mono(ui::Face::mono, ui::size_body);
            ui::draw_text_within(list, {at.x + 10, at.y + 24}, card - 14, ui::theme().text, step.value);
        }
        ui::landmark(std::string("ladder/") + (step.matrix == MatrixId::raw      ? "score"
                                               : step.matrix == MatrixId::scaled ? "scaled"
                                               : step.matrix == MatrixId::capped ? "capped"
                                                                                 : "weight"),
                     at, max);
        if (over) {
            view.hover.cell = CellRef{step.matrix, query, key};
            if (clicked()) view.session.perform(app::Pin{view.hover.cell}, ui::gesture());
        }
        at.x = max.x;
        if (&step != &steps.back())
            ui::draw_text(list, {at.x + 4, at.y + height / 2 - 9}, ui::theme().dim, "→");
        at.x += arrow;
    }
    ImGui::Dummy({width, height});
}

struct Key {
    Index key;
    float weight;
};

// The keys that the row looks at most, strongest first.
std::vector<Key> strongest(const SentenceView& view, Index query) {
    const std::vector<float> weights = view.record().weights(view.selection().head, query);
    const auto rank = [](float weight) { return std::isnan(weight) ? 2.0f : weight; };
    std::vector<Key> keys;
    for (Index k = 0; k < view.tokens(); ++k)
        if (view.allows(query, k)) keys.push_back({k, weights[static_cast<std::size_t>(k)]});
    const auto count = std::min(std::ssize(keys), most_bars);
    std::partial_sort(keys.begin(), keys.begin() + count, keys.end(), [&](const Key& a, const Key& b) {
        return rank(a.weight) != rank(b.weight) ? rank(a.weight) > rank(b.weight) : a.key < b.key;
    });
    keys.resize(static_cast<std::size_t>(count));
    return keys;
}

void subtitle(const std::string& text) {
    ui::Type semibold(ui::Face::semibold, ui::size_body);
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(text.c_str());
    ImGui::PopTextWrapPos();
}

}  // namespace

void sentence_ladder(SentenceView& view, float width) {
    const Index query = view.query();
    const std::vector<Key> keys = strongest(view, query);
    if (keys.empty()) return;
    const Index key = view.key().value_or(keys.front().key);

    ui::section("Ladder");
    ImGui::SameLine(0, 14);
    ui::caption(
        (quoted(view.piece(query)) + " asks with its q, " + quoted(view.piece(key)) + " answers with its k")
            .c_str());
    draw_strips(view, width, query, key);
    draw_steps(view, width, query, key);

    subtitle("Where " + quoted(view.piece(query)) + " looks");
    std::vector<ui::Bar> bars;
    for (const Key& k : keys)
        bars.push_back({view.piece(k.key), k.weight, number(k.weight), k.key == key, false});
    if (const auto over = ui::bar_list("row", width, bars, 1, ui::sequential_scale(1))) {
        const Index pointed = keys[static_cast<std::size_t>(*over)].key;
        view.point(query, pointed);
        view.hover.cell = CellRef{MatrixId::weight, query, pointed};
        if (clicked()) {
            view.session.perform(app::Pin{view.hover.cell}, ui::gesture());
            view.select(query, pointed);
        }
    }
}

}  // namespace attn::lenses
