// Draws the two lines of words with the arcs between them, the cross-attention heads ordered by how
// concentrated they are, and the maps of the three kinds of attention.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/translation/translation.hpp"
#include "present/present.hpp"
#include "subjects/translation_presets.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float word_height = 28, word_padding = 8, word_gap = 6;
constexpr float arcs_height = 130, column_pitch = 34, least_arcs = 90;
constexpr float least_weight = 0.05f;  // weaker arcs are not drawn
constexpr Index most_words = 128;
constexpr float map_height = 420, least_map = 265;

struct WordBox {
    ImVec2 min, max;
    ImVec2 middle() const { return {(min.x + max.x) / 2, (min.y + max.y) / 2}; }
};

}  // namespace

// What one frame draws of the two lines.
struct TranslationLens::Lines {
    const TextRun& run;  // the cross-attention's view of it
    HeadIndex head;
    std::vector<std::string> read, written;
    std::vector<WordBox> read_at, written_at;
    bool stacked = true;                      // one line above the other; otherwise two columns
    std::vector<std::vector<float>> weights;  // [written][read]
    std::optional<Index> row, key;            // the words whose arcs are strong

    Index strongest(Index of_row) const {
        const auto& w = weights[static_cast<std::size_t>(of_row)];
        return std::ranges::max_element(w) - w.begin();
    }
    Index strongest_row(Index of_key) const {
        Index best = 0;
        for (Index i = 0; i < std::ssize(weights); ++i)
            if (at(i, of_key) > at(best, of_key)) best = i;
        return best;
    }
    float at(Index i, Index j) const {
        return weights[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
    }
    // Puts one line above the other if both fit, otherwise two columns; returns their height.
    float place(ImVec2 corner, float width);
    void draw_arcs(bool strong) const;
};

float TranslationLens::Lines::place(ImVec2 corner, float width) {
    const auto sizes = [](const std::vector<std::string>& words) {
        std::vector<float> all;
        for (const std::string& word : words) all.push_back(ui::text_size(word).x + 2 * word_padding);
        return all;
    };
    const auto length = [](const std::vector<float>& all) {
        float sum = -word_gap;
        for (const float each : all) sum += each + word_gap;
        return sum;
    };
    const std::vector<float> read_sizes = sizes(read), written_sizes = sizes(written);
    stacked = std::max(length(read_sizes), length(written_sizes)) <= width;
    const float widest = std::floor((width - least_arcs) / 2);
    const auto boxes = [&](const std::vector<float>& all, bool first) {
        std::vector<WordBox> placed;
        ImVec2 at = corner;
        if (stacked) {
            at.x += std::floor((width - length(all)) / 2);
            if (!first) at.y += word_height + arcs_height;
        } else {
            at.x += first ? widest : width - widest;
        }
        for (const float each : all) {
            const float wide = stacked ? each : std::min(each, widest),
                        left = !stacked && first ? at.x - wide : at.x;
            placed.push_back({{left, at.y}, {left + wide, at.y + word_height}});
            stacked ? at.x += each + word_gap : at.y += column_pitch;
        }
        return placed;
    };
    read_at = boxes(read_sizes, true);
    written_at = boxes(written_sizes, false);
    return stacked ? 2 * word_height + arcs_height
                   : column_pitch * static_cast<float>(std::max(read.size(), written.size()));
}

void TranslationLens::Lines::draw_arcs(bool strong) const {
    for (Index i = 0; i < run.queries(); ++i)
        for (Index j = 0; j < run.keys(); ++j) {
            const float weight = at(i, j);
            const bool lit = (!row && !key) || row == i || (!row && key == j);
            if (lit != strong || !(weight >= least_weight)) continue;
            const WordBox &from = written_at[static_cast<std::size_t>(i)],
                          &to = read_at[static_cast<std::size_t>(j)];
            const ImVec2 a = stacked ? ImVec2{from.middle().x, from.min.y - 2}
                                     : ImVec2{from.min.x - 2, from.middle().y},
                         b = stacked ? ImVec2{to.middle().x, to.max.y + 2}
                                     : ImVec2{to.max.x + 2, to.middle().y};
            const ImVec2 bend = stacked ? ImVec2{0, (b.y - a.y) / 2} : ImVec2{(b.x - a.x) / 2, 0};
            ImGui::GetWindowDrawList()->AddBezierCubic(
                a, {a.x + bend.x, a.y + bend.y}, {b.x - bend.x, b.y - bend.y}, b,
                strong ? ui::with_alpha(ui::theme().accent, 0.25f + 0.75f * weight)
                       : ui::with_alpha(ui::theme().dim, 0.06f + 0.2f * weight),
                1 + 4 * weight);
        }
}

Table TranslationLens::table_of_lines(const Lines& lines) {
    const auto count = std::min(std::ssize(lines.written), table_row_limit);
    Table table{"Weights from the words that are written to those that were read",
                lines.read,
                {lines.written.begin(), lines.written.begin() + count},
                Matrix(count, std::ssize(lines.read))};
    for (Index i = 0; i < count; ++i)
        for (Index j = 0; j < table.values.cols; ++j)
            table.values.at(i, j) = static_cast<double>(lines.at(i, j));
    return table;
}

void TranslationLens::draw_presets(Subject& subject) {
    const Translating& translating = *subject.translating();
    for (const TranslationPreset& preset : translation_presets) {
        if (&preset != &translation_presets.front()) ui::next_control(ui::text_size(preset.name).x + 20);
        if (ui::button(("translation/preset/" + std::string(preset.key)).c_str(), preset.name))
            visit().perform(translating.texts(preset.english, preset.french));
        ui::tooltip((std::string(preset.english) + "\n" + preset.french).c_str());
    }
}

void TranslationLens::draw_controls(const Drawing& drawing, Subject& subject, const TranslationHeads& heads) {
    Translating& translating = *subject.translating();
    TextRun& run = *translating.translation();
    const ModelConfig& config = run.run->model()->config();
    const ui::TightLabels tight;
    if (ui::button("translation/play", translating.playing() ? "Pause" : "Play", {"Play", "Pause"}))
        translating.play(!translating.playing());
    ui::tooltip("Write the second line word by word; at its end, begin anew");
    const HeadIndex chosen = subject.chosen_head();
    const Index kind = run.of(chosen.layer).alike().begin,
                layer = heads.cross.layer - run.numbering().count + config.decoder_layers;
    ui::next_control(ui::need::short_stepper);
    ImGui::BeginGroup();
    if (const auto to = ui::stepper("translation/layer", "layer", layer, 0, config.decoder_layers - 1))
        parts::choose_head(drawing, {std::min(kind + *to, run.of(kind).alike().end - 1), chosen.head});
    ImGui::EndGroup();
    ui::next_control(ui::need::short_stepper);
    ImGui::BeginGroup();
    if (const auto to = ui::stepper("translation/head", "head", chosen.head, 0, config.heads - 1))
        parts::choose_head(drawing, {chosen.layer, *to});
    ImGui::EndGroup();
}

// ---- The two lines ----------------------------------------------------------------------------------------

void TranslationLens::draw_word(const Drawing& drawing, const Lines& lines, bool written, Index at) {
    const auto i = static_cast<std::size_t>(at);
    const WordBox& box = (written ? lines.written_at : lines.read_at)[i];
    const std::string& word = (written ? lines.written : lines.read)[i];
    const bool last = written && at + 1 == std::ssize(lines.written);
    const Index query = written ? at : lines.strongest_row(at), key = written ? lines.strongest(at) : at;
    const std::string name =
        std::string("translation/") + (written ? "written/" : "read/") + std::to_string(at);
    ImGui::SetCursorScreenPos(box.min);
    const bool pressed = ImGui::InvisibleButton(name.c_str(), {box.max.x - box.min.x, box.max.y - box.min.y},
                                                ImGuiButtonFlags_EnableNav);
    ui::landmark_item(name);
    const std::string other = curly_quoted((written ? lines.read[static_cast<std::size_t>(key)]
                                                    : lines.written[static_cast<std::size_t>(query)]));
    const std::string told = written ? curly_quoted(word) + (last ? ", likeliest to come, " : " ") +
                                           "is written looking most at " + other + ", " +
                                           percent(static_cast<double>(lines.at(query, key)))
                                     : curly_quoted(word) + " is looked at most for writing " + other + ", " +
                                           percent(static_cast<double>(lines.at(query, key)));
    ui::semantic_item(ui::Role::button, name, told);
    const bool over = ImGui::IsItemHovered() || ImGui::IsItemFocused();
    const CellRef cell{.stage = Stage::weight, .row = query, .col = key};
    if (over) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        drawing.now.cell = cell;
        drawing.now.head = lines.head;
        drawing.point(written ? std::optional(at) : std::nullopt, written ? std::nullopt : std::optional(at));
        const bool finger = ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen;
        if (!finger && ImGui::IsItemHovered()) ui::tooltip_at(box.min, box.max, told.c_str());
    }
    if (pressed) {
        parts::choose_head(drawing, lines.head);
        present::pin(drawing, cell);
        parts::choose_tokens(drawing, written ? std::optional(at) : std::nullopt,
                             written ? std::nullopt : std::optional(at));
    }
    const ui::Theme& theme = ui::theme();
    const bool lit = written ? lines.row == at : lines.key == at;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(box.min, box.max, lit ? theme.accent_soft : theme.raised, 6);
    if (lit) list->AddRect(box.min, box.max, theme.accent, 6, 0, 1.5f);
    ui::draw_text_within(list,
                         {box.min.x + word_padding, box.min.y + (word_height - ImGui::GetFontSize()) / 2},
                         box.max.x - box.min.x - 2 * word_padding + 2, last ? theme.dim : theme.text, word);
}

void TranslationLens::draw_lines(const Drawing& drawing, Subject& subject, HeadIndex head, float width) {
    TextRun& whole = *subject.translating()->translation();
    Lines lines{whole.of(head.layer), head, {}, words_written(whole, subject), {}, {}, true, {}, {}, {}};
    for (const std::string& piece : lines.run.key_names()) lines.read.push_back(bare_word(piece));
    if (std::max(std::ssize(lines.read), std::ssize(lines.written)) > most_words)
        return ui::caption(("The lines are drawn for up to " + std::to_string(most_words) +
                            " tokens each; the maps below show them all.")
                               .c_str());
    const auto record = lines.run.record(head.layer);
    for (Index i = 0; i < lines.run.queries(); ++i) lines.weights.push_back(record->weights(head.head, i));
    const bool of_cross = subject.attention() == &lines.run;
    const Selection s = selection_of(drawing);
    const bool pointed = drawing.pointed.query || drawing.pointed.key;
    if (of_cross || drawing.pointed.head == head) {
        lines.row = pointed ? drawing.pointed.query : s.query;
        lines.key = pointed ? drawing.pointed.key : s.query ? std::nullopt : s.key;
        if (lines.row && *lines.row >= lines.run.queries()) lines.row.reset();
        if (lines.key && *lines.key >= lines.run.keys()) lines.key.reset();
    }

    const present::Card card(drawing,
                             {.key = "translation/lines",
                              .title = "Read and written, " + head_text(head, whole.numbering()),
                              .table = [lines] { return table_of_lines(lines); }},
                             width);
    width = card.width();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float height = lines.place(corner, width);
    lines.draw_arcs(false);
    lines.draw_arcs(true);
    {
        const ui::SemanticGroup group(ui::Role::group, "translation/lines",
                                      "The words that were read and those that are written");
        for (Index j = 0; j < std::ssize(lines.read); ++j) draw_word(drawing, lines, false, j);
        for (Index i = 0; i < std::ssize(lines.written); ++i) draw_word(drawing, lines, true, i);
    }
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, height});
    ui::landmark("translation/lines", corner, {corner.x + width, corner.y + height});
    ui::caption(
        (std::string(lines.stacked ? "Above" : "Left") + " what the encoder read, " +
         (lines.stacked ? "below" : "right") +
         " what the decoder writes; the last word is the likeliest to come. Each arc is a weight of the row "
         "that writes the word, from 5 % on.")
            .c_str());
}

// ---- The heads of the cross-attention ---------------------------------------------------------------------

void TranslationLens::draw_heads(const Drawing& drawing, Subject& subject, HeadIndex head, float width) {
    Translating& translating = *subject.translating();
    const TextRun& run = *translating.translation();
    const ModelConfig& config = run.run->model()->config();
    const Index first = config.attentions() - config.decoder_layers;
    const std::vector<double>& measured = surest(run);
    const auto count = static_cast<std::size_t>(config.decoder_layers * config.heads);
    if (measured.size() < count)
        drawing.visit.continue_with([this, &subject, count] {
            Translating* now = subject.translating();
            return now && now->translation() && surest(*now->translation()).size() < count;
        });
    const auto at = [&](std::size_t i) {
        return HeadIndex{first + static_cast<Index>(i) / config.heads, static_cast<Index>(i) % config.heads};
    };
    std::vector<ui::Bar> bars;
    std::size_t best = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        if (measured[i] > measured[best]) best = i;
        const auto aligned = translating.aligned(at(i));
        bars.push_back({run.numbering().short_head(at(i)), static_cast<float>(measured[i]),
                        fixed(measured[i], 2) + (aligned ? "   aligned " + percent(*aligned) : ""),
                        at(i) == head, false});
    }
    std::string told = "The mean of each row’s strongest weight: near 1, a head looks at one word at a time.";
    if (measured.size() == count) {
        told = "Here the surest is " + head_text(at(best), run.numbering()) + ": on average " +
               percent(measured[best]) + " of a row lies on one word.";
        std::optional<std::size_t> card;
        for (std::size_t i = 0; i < count; ++i)
            if (translating.aligned(at(i)) &&
                (!card || *translating.aligned(at(i)) > *translating.aligned(at(*card))))
                card = i;
        if (card)
            told += " By the model’s card, " + head_text(at(*card), run.numbering()) +
                    " aligns best: " + percent(*translating.aligned(at(*card))) +
                    " of the words of held-out sentences.";
    }
    const auto pointed = [&](Index i) { return at(static_cast<std::size_t>(i)); };
    const auto reply = present::bars(
        drawing,
        {.key = "translation/heads",
         .title = "Which head aligns the two?",
         .value = "mean of each row’s strongest weight",
         .bars = bars,
         .cell =
             [&](Index i) {
                 return translation_cells::confidence(pointed(i).layer - first, pointed(i).head);
             },
         .tip = [&](Index i) { return head_text(pointed(i), run.numbering()) + "\nClick to look at it"; }},
        width);
    if (reply.over) drawing.now.head = pointed(*reply.over);
    if (reply.clicked) parts::choose_head(drawing, pointed(*reply.clicked));
    ui::caption(told.c_str());
    ui::landmark_item("translation/best");
}

// ---- The maps ---------------------------------------------------------------------------------------------

void TranslationLens::draw_map(const Drawing& drawing, Subject& subject, int which, HeadIndex head,
                               float width) {
    static constexpr std::array<const char*, 3> names{"translation/map/cross", "translation/map/decoder",
                                                      "translation/map/encoder"},
        titles{"Cross-attention", "The decoder’s own", "The encoder’s"},
        meanings{"Each word that is written looks at all that was read.",
                 "Each word that is written looks at those before it: the rest is masked.",
                 "Each word that was read looks at all of them."};
    const auto i = static_cast<std::size_t>(which);
    TextRun& run = subject.translating()->translation()->of(head.layer);
    const present::Card card(drawing,
                             {.key = names[i],
                              .title = std::string(titles[i]) + ": " + head_text(head, run.numbering()),
                              .notation = meanings[i],
                              .table = [&] { return map_table(*subject.translating()->translation(), head); },
                              .is_vector = false,
                              .is_listed = false},
                             width);
    const bool chosen = head == subject.chosen_head();
    const Selection s = selection_of(drawing);
    ui::MapPicture picture{.name = names[i],
                           .map = run.map(head.layer, head.head, {}),
                           .query_names = run.query_names(),
                           .key_names = run.key_names(),
                           .choice = {},
                           .title = "weight",
                           .high = 1};
    const bool pointed = drawing.pointed.head ? drawing.pointed.head == head : chosen;
    if (pointed && (drawing.pointed.query || drawing.pointed.key)) {
        picture.query = drawing.pointed.query;
        picture.key = drawing.pointed.key;
        if (picture.query && picture.key) picture.pointed = ui::MapCell{*picture.query, *picture.key};
    } else if (chosen) {
        picture.query = s.query;
        picture.key = s.key;
    }
    if (picture.query && *picture.query >= run.queries()) picture.query.reset();
    if (picture.key && *picture.key >= run.keys()) picture.key.reset();
    if (const auto& pin = state().pin;
        chosen && pin && pin->stage == Stage::weight && !pin->words && !pin->second)
        picture.pinned = ui::MapCell{pin->row, pin->col};
    const ui::MapTouch touch = views_[i].draw(picture, card.width(), map_height, drawing.deadline);
    if (touch.more) drawing.visit.continue_with([this, i] { return views_[i].step(); });
    if (!touch.over) return;
    const CellRef cell{.stage = Stage::weight, .row = touch.over->query, .col = touch.over->key};
    drawing.point(cell.row, cell.col);
    drawing.now.cell = cell;
    drawing.now.head = head;
    clicks_[i].answer(drawing, touch, [&] {
        parts::choose_head(drawing, head);
        present::pin(drawing, cell);
        parts::choose_tokens(drawing, cell.row, cell.col);
    });
}

void TranslationLens::draw(const Drawing& drawing, Subject& subject) {
    TextRun* run = subject.translating()->translation();
    if (!run || run->logits.size() == 0) return;
    const TranslationHeads heads = translation_heads(run->run->model()->config(), subject.chosen_head());
    const bool narrow = ImGui::GetContentRegionAvail().x < ui::two_columns;
    ui::hint(
        narrow
            ? "Click a word of either line to see its arcs. Press Play to watch the second line being "
              "written."
            : "Hover over a word of either line to see its arcs, and click to keep them. Press Play to watch "
              "the second line being written.");
    draw_controls(drawing, subject, heads);
    ImGui::Dummy({0, 6});
    const float width = ImGui::GetContentRegionAvail().x;
    draw_lines(drawing, subject, heads.cross, width);
    if (subject.translating()->aligned(heads.cross)) draw_presets(subject);
    ImGui::Dummy({0, 8});
    ui::columns(
        "translation/maps", least_map, present::card_gap,
        [&](float w) { draw_map(drawing, subject, 0, heads.cross, w); },
        [&](float w) { draw_map(drawing, subject, 1, heads.decoder, w); },
        [&](float w) { draw_map(drawing, subject, 2, heads.encoder, w); });
    ImGui::Dummy({0, 8});
    ui::columns(
        "translation/below", least_map, present::card_gap,
        [&](float w) { draw_heads(drawing, subject, heads.cross, w); },
        [&](float w) { subject.draw_beside(drawing, w); });
}

}  // namespace attn::app
