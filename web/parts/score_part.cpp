#include "parts/score_part.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "present/present.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"
#include "widgets/vector_strip.hpp"

namespace attn::parts {

// The head whose scores this frame shows.
struct ScorePart::Scored {
    const app::Drawing& drawing;
    const app::Attention& attention;
    const Record* record;
    Index head;

    bool allows(Index query, Index key) const { return record->spec().mask.allows(head, query, key); }
    const std::string& query_name(Index query) const {
        return attention.query_names()[static_cast<std::size_t>(query)];
    }
    const std::string& key_name(Index key) const {
        return attention.key_names()[static_cast<std::size_t>(key)];
    }
};

namespace {

constexpr Index most_bars = 6;
constexpr float name_width = 40, strip_gap = 6;

std::string written(float value, int decimals = 4) {
    return app::fixed(static_cast<double>(value), decimals);
}

float extent(std::span<const float> values) {
    float most = 0;
    for (const float v : values) most = std::max(most, std::abs(v));
    return most;
}

}  // namespace

// The pair's vectors, and their products.
struct ScorePart::Strips {
    std::vector<float> q, k, product;

    app::Table table(const std::string& title) const {
        app::Table made{title, {"q", "k", "q × k"}, {}, app::Matrix(std::ssize(q), 3)};
        for (std::size_t a = 0; a < q.size(); ++a) {
            made.row_labels.push_back("component " + std::to_string(a));
            for (const auto& [column, vector] : {std::pair(0, &q), {1, &k}, {2, &product}})
                made.values.at(static_cast<Index>(a), column) = static_cast<double>((*vector)[a]);
        }
        return made;
    }
};

ScorePart::Strips ScorePart::strips_of(const Scored& view, Index query, Index key) {
    const auto row_of = [](const Tensor& tensor, Index head, Index row) {
        const ConstMatrix m = tensor.heads().head(head);
        return std::vector<float>(m.row(row), m.row(row) + m.cols);
    };
    const Record& record = *view.record;
    Strips v{row_of(record.q(), view.head, query), row_of(record.k(), record.kv_head(view.head), key), {}};
    for (std::size_t a = 0; a < v.q.size(); ++a) v.product.push_back(v.q[a] * v.k[a]);
    return v;
}

// Draws q, k and q × k below one another; all three highlight the component under the cursor.
void ScorePart::draw_strips(const Scored& view, const Strips& v, float width, Index query, Index key) {
    const Record& record = *view.record;
    const ui::ColourScale vectors = ui::diverging_scale(std::max(extent(v.q), extent(v.k)));
    const ui::ColourScale products = ui::diverging_scale(extent(v.product));

    std::optional<Index> over;
    const ui::StripLayout layout(record.d_k(), width - name_width);
    struct Row {
        const char* name;
        std::span<const float> values;
        const ui::ColourScale& scale;
        Stage stage;
        Index row;
    };
    const std::array<Row, 3> rows{{{"q", v.q, vectors, Stage::q, query},
                                   {"k", v.k, vectors, Stage::k, key},
                                   {"q × k", v.product, products, Stage::raw, query}}};
    for (const Row& row : rows) {
        const ImVec2 at = ImGui::GetCursorScreenPos();
        {
            ui::Type mono(ui::Face::mono, ui::size_small);
            ui::draw_text(ImGui::GetWindowDrawList(), {at.x, at.y + 1}, ui::theme().dim, row.name);
        }
        const auto found =
            ui::vector_strip(std::string("ladder/") + (row.stage == Stage::raw ? "product" : row.name),
                             row.name, {at.x + name_width, at.y}, layout, row.values, row.scale, lit_);
        if (found) {
            over = found;
            const bool product = row.stage == Stage::raw;
            view.drawing.now.cell = app::RunCell{row.stage, row.row, product ? key : *found};
            if (ui::clicked()) present::pin(view.drawing, *view.drawing.now.cell);
        }
        ImGui::Dummy({width, layout.height() + strip_gap - ImGui::GetStyle().ItemSpacing.y});
    }
    lit_ = over;

    ui::Type mono(ui::Face::mono, ui::size_small);
    if (over) {
        const auto a = static_cast<std::size_t>(*over);
        const std::string text = "component " + std::to_string(a) + ":  " + written(v.q[a]) + " × " +
                                 written(v.k[a]) + " = " + written(v.product[a]);
        ui::text_item(text);
        ui::semantic_text(ui::Role::paragraph, text);
    } else {
        ImGui::PushStyleColor(ImGuiCol_Text, ui::theme().dim);
        ui::text_item(std::to_string(record.d_k()) + " components; their products add up to the score");
        ImGui::PopStyleColor();
    }
}

// Draws score → scaled → weight, each as a small card with the step that leads to it.
void ScorePart::draw_steps(const Scored& view, float width, Index query, Index key) {
    const Record& record = *view.record;
    const Index head = view.head;
    const bool allowed = view.allows(query, key);
    struct Step {
        Stage stage;
        const char* name;
        std::string value;
    };
    std::vector<Step> steps{{Stage::raw, "Σ q × k", written(record.cell(Stage::raw, head, query, key))},
                            {Stage::scaled, "", written(record.cell(Stage::scaled, head, query, key))}};
    const std::string scaling = "× " + app::fixed(record.scale(), 4);
    steps[1].name = scaling.c_str();
    if (record.spec().softcap > 0)
        steps.push_back({Stage::capped, "capped", written(record.cell(Stage::capped, head, query, key))});
    steps.push_back({Stage::weight, allowed ? "softmax" : "masked",
                     written(record.cell(Stage::weight, head, query, key))});

    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    constexpr float arrow = 22, height = 46;
    const auto count = static_cast<float>(steps.size());
    const float card = std::min((width - arrow * (count - 1)) / count, 120.0f);
    ImVec2 at = corner;
    for (const Step& step : steps) {
        const ImVec2 max{at.x + card, at.y + height};
        const std::string name = std::string("ladder/") + (step.stage == Stage::raw      ? "score"
                                                           : step.stage == Stage::scaled ? "scaled"
                                                           : step.stage == Stage::capped ? "capped"
                                                                                         : "weight");
        ui::landmark(name, at, max);
        ui::semantic_place(ui::Role::button, name, std::string(step.name) + " " + step.value, at, max);
        const bool over =
            (ImGui::IsWindowHovered() && ImGui::IsMouseHoveringRect(at, max)) || ui::asked_cell(name);
        list->AddRectFilled(at, max, over ? ui::theme().hovered : ui::theme().raised, 6);
        {
            ui::Type small(ui::Face::regular, ui::size_small);
            ui::draw_text_within(list, {at.x + 10, at.y + 5}, card - 14, ui::theme().dim, step.name);
        }
        {
            ui::Type mono(ui::Face::mono, ui::size_body);
            ui::draw_text_within(list, {at.x + 10, at.y + 24}, card - 14, ui::theme().text, step.value);
        }
        if (over) {
            view.drawing.now.cell = app::RunCell{step.stage, query, key};
            if (ui::clicked()) present::pin(view.drawing, *view.drawing.now.cell);
        }
        at.x = max.x;
        if (&step != &steps.back())
            ui::draw_text(list, {at.x + 4, at.y + height / 2 - 9}, ui::theme().dim, "→");
        at.x += arrow;
    }
    ImGui::Dummy({width, height});
}

namespace {

struct Key {
    Index key;
    float weight;
};

// Returns the keys with the largest weights in the row, largest first.
std::vector<Key> strongest(const auto& view, Index query) {
    const std::vector<float> weights = view.record->weights(view.head, query);
    const auto rank = [](float weight) { return std::isnan(weight) ? 2.0f : weight; };
    std::vector<Key> keys;
    for (Index k = 0; k < view.record->keys(); ++k)
        if (view.allows(query, k)) keys.push_back({k, weights[static_cast<std::size_t>(k)]});
    const auto count = std::min(std::ssize(keys), most_bars);
    std::partial_sort(keys.begin(), keys.begin() + count, keys.end(), [&](const Key& a, const Key& b) {
        return rank(a.weight) != rank(b.weight) ? rank(a.weight) > rank(b.weight) : a.key < b.key;
    });
    keys.resize(static_cast<std::size_t>(count));
    return keys;
}

}  // namespace

void ScorePart::draw(const app::Drawing& drawing, app::Attention& attention, float width) {
    const app::Selection s = selection_of(drawing);
    const auto record = attention.record(s.layer);
    const auto asked = looked_query(drawing, attention);
    if (!record || record->keys() == 0 || record->queries() == 0) return;
    const Scored view{drawing, attention, record.get(), s.head};
    const Index query = asked.value_or(attention.predicted());
    const std::vector<Key> keys = strongest(view, query);
    if (keys.empty()) return;
    const auto looked = looked_key(drawing);
    const Index key = looked && *looked < record->keys() ? *looked : keys.front().key;

    const std::string asks = app::curly_quoted(view.query_name(query)),
                      answers = app::curly_quoted(view.key_name(key));
    {
        const Strips v = strips_of(view, query, key);
        const present::Card card(
            drawing,
            {.key = "score",
             .title = "Score",
             .notation = asks + " asks with its q, " + answers + " answers with its k",
             .table = [v, title = "Score of " + asks + " on " + answers] { return v.table(title); }},
            width);
        draw_strips(view, v, card.width(), query, key);
        draw_steps(view, card.width(), query, key);
    }
    present::Bars shown{.key = "row",
                        .title = "Where " + asks + " looks",
                        .value = "weight",
                        .bars = {},
                        .cell = [query, keys](Index bar) {
                            return app::RunCell{Stage::weight, query,
                                                keys[static_cast<std::size_t>(bar)].key};
                        }};
    for (const Key& k : keys)
        shown.bars.push_back({view.key_name(k.key), k.weight, written(k.weight), k.key == key, false});
    const present::BarReply reply = present::bars(drawing, shown, width);
    if (!reply.over) return;
    const Index pointed = keys[static_cast<std::size_t>(*reply.over)].key;
    drawing.point(query, pointed);
    if (reply.clicked) choose_tokens(drawing, query, pointed);
}

}  // namespace attn::parts
