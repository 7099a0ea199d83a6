// Draws the two lines of words with the arcs between them, the cross-attention heads ordered by how
// concentrated they are, and the maps of the three kinds of attention.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/sheet.hpp"
#include "lenses/translation/translation.hpp"
#include "parts/head_map.hpp"
#include "present/present.hpp"
#include "subjects/translation_presets.hpp"
#include "subjects/vocabulary.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::translation {

struct ViewMemory {
    std::array<parts::HeadMap, 3> maps;
};

namespace {

constexpr float word_height = 28, word_padding = 8, word_gap = 6;
constexpr float arcs_height = 130, column_pitch = 34, least_arcs = 90;
constexpr float least_weight = 0.05f;  // weaker arcs are not drawn
constexpr Index most_words = 128;
constexpr float map_height = 420, least_map = 265;

struct Word {
    std::string text;
    ImVec2 min = {}, max = {};

    float width() const { return ui::text_size(text).x + 2 * word_padding; }
    ImVec2 middle() const { return {(min.x + max.x) / 2, (min.y + max.y) / 2}; }
};
using Line = std::vector<Word>;

// What one frame draws of the two lines.
struct Lines {
    const TextRun& run;  // the cross-attention's view of it
    HeadIndex head;
    Line read = {}, written = {};
    bool stacked = true;                           // one line above the other; otherwise two columns
    std::vector<std::vector<float>> weights = {};  // [written][read]
    std::optional<Index> row = {}, key = {};       // the words whose arcs are strong

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

float Lines::place(ImVec2 corner, float width) {
    const auto length = [](const Line& line) {
        float sum = -word_gap;
        for (const Word& word : line) sum += word.width() + word_gap;
        return sum;
    };
    stacked = std::max(length(read), length(written)) <= width;
    const float widest = std::floor((width - least_arcs) / 2);
    for (const bool first : {true, false}) {
        Line& line = first ? read : written;
        ImVec2 at = corner;
        if (!stacked) at.x += first ? widest : width - widest;
        if (stacked) at.x += std::floor((width - length(line)) / 2);
        if (stacked && !first) at.y += word_height + arcs_height;
        for (Word& word : line) {
            const float wide = stacked ? word.width() : std::min(word.width(), widest);
            word.min = {!stacked && first ? at.x - wide : at.x, at.y};
            word.max = {word.min.x + wide, at.y + word_height};
            stacked ? at.x += wide + word_gap : at.y += column_pitch;
        }
    }
    return stacked ? 2 * word_height + arcs_height
                   : column_pitch * static_cast<float>(std::max(read.size(), written.size()));
}

void Lines::draw_arcs(bool strong) const {
    for (Index i = 0; i < run.queries(); ++i)
        for (Index j = 0; j < run.keys(); ++j) {
            const float weight = at(i, j);
            const bool lit = (!row && !key) || row == i || (!row && key == j);
            if (lit != strong || !(weight >= least_weight)) continue;
            const Word &from = written[static_cast<std::size_t>(i)], &to = read[static_cast<std::size_t>(j)];
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

Table table_of_lines(const Lines& lines) {
    Sheet sheet{.key = "translation/lines",
                .title = "Weights from the words that are written to those that were read",
                .rows = {.name = "written"},
                .columns = {.name = "read"},
                .value = [&](Index i, Index j) { return static_cast<double>(lines.at(i, j)); }};
    for (const Word& word : lines.written) sheet.rows.labels.push_back(word.text);
    for (const Word& word : lines.read) sheet.columns.labels.push_back(word.text);
    return table_of(sheet);
}

void draw_presets(const Drawing& drawing, Subject& subject) {
    const Translating& translating = *subject.translating();
    const ui::Row tries("translation/try", ui::to_try);
    for (const TranslationPreset& preset : translation_presets) {
        if (!ui::next_button(preset.name)) continue;
        if (ui::button(("translation/preset/" + std::string(preset.key)).c_str(), preset.name))
            drawing.visit.perform(translating.texts(preset.english, preset.french));
        ui::tooltip((std::string(preset.english) + "\n" + preset.french).c_str());
    }
}

void draw_controls(const Model& model, const Drawing& drawing, Subject& subject) {
    Translating& translating = *subject.translating();
    TextRun& run = *model.run;
    const ModelConfig& config = model.config();
    const ui::TightLabels tight;
    const ui::Row row("translation/settings");
    if (ui::button("translation/play", translating.playing() ? "Pause" : "Play", {"Play", "Pause"}))
        translating.play(!translating.playing());
    ui::tooltip("Write the second line word by word; at its end, begin anew");
    const HeadIndex chosen = subject.chosen_head();
    const Index kind = run.of(chosen.layer).alike().begin,
                layer = model.heads.cross.layer - model.first_cross();
    ui::control(ui::need::short_stepper, [&] {
        if (const auto to = ui::stepper("translation/layer", "layer", layer, 0, config.decoder_layers - 1))
            parts::choose_head(drawing, {std::min(kind + *to, run.of(kind).alike().end - 1), chosen.head});
    });
    ui::control(ui::need::short_stepper, [&] {
        if (const auto to = ui::stepper("translation/head", "head", chosen.head, 0, config.heads - 1))
            parts::choose_head(drawing, {chosen.layer, *to});
    });
}

// ---- The two lines ----------------------------------------------------------------------------------------

void draw_word(const Drawing& drawing, const Lines& lines, bool written, Index at) {
    const Word& word = (written ? lines.written : lines.read)[static_cast<std::size_t>(at)];
    const bool last = written && at + 1 == std::ssize(lines.written);
    const Index query = written ? at : lines.strongest_row(at), key = written ? lines.strongest(at) : at;
    const std::string name =
        std::string("translation/") + (written ? "written/" : "read/") + std::to_string(at);
    ImGui::SetCursorScreenPos(word.min);
    const bool pressed = ImGui::InvisibleButton(
        name.c_str(), {word.max.x - word.min.x, word.max.y - word.min.y}, ImGuiButtonFlags_EnableNav);
    ui::landmark_item(name);
    const Word& other =
        written ? lines.read[static_cast<std::size_t>(key)] : lines.written[static_cast<std::size_t>(query)];
    const std::string told = curly_quoted(word.text) + (last ? ", likeliest to come, " : " ") +
                             (written ? "is written looking most at " : "is looked at most for writing ") +
                             curly_quoted(other.text) + ", " +
                             percent(static_cast<double>(lines.at(query, key)));
    ui::semantic_item(ui::Role::button, name, told);
    const RunCell cell{.stage = Stage::weight, .row = query, .col = key};
    const auto row = written ? std::optional(at) : std::nullopt,
               column = written ? std::nullopt : std::optional(at);
    if (ImGui::IsItemHovered() || ImGui::IsItemFocused()) {
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        drawing.now.cell = cell;
        drawing.now.head = lines.head;
        drawing.point(row, column);
        const bool finger = ImGui::GetIO().MouseSource == ImGuiMouseSource_TouchScreen;
        if (!finger && ImGui::IsItemHovered()) ui::tooltip_at(word.min, word.max, told.c_str());
    }
    if (pressed) {
        parts::choose_head(drawing, lines.head);
        present::pin(drawing, cell);
        parts::choose_tokens(drawing, row, column);
    }
    const ui::Theme& theme = ui::theme();
    const bool lit = written ? lines.row == at : lines.key == at;
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(word.min, word.max, lit ? theme.accent_soft : theme.raised, 6);
    if (lit) list->AddRect(word.min, word.max, theme.accent, 6, 0, 1.5f);
    ui::draw_text_within(
        list, {word.min.x + word_padding, word.min.y + (word_height - ImGui::GetFontSize()) / 2},
        word.max.x - word.min.x - 2 * word_padding + 2, last ? theme.dim : theme.text, word.text);
}

void draw_lines(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    TextRun& whole = *model.run;
    const HeadIndex head = model.heads.cross;
    Lines lines{whole.of(head.layer), head};
    for (const std::string& piece : lines.run.key_names()) lines.read.push_back({Vocabulary::bare(piece)});
    for (std::string& word : words_written(whole, subject)) lines.written.push_back({std::move(word)});
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

void draw_heads(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Translating& translating = *subject.translating();
    const TextRun& run = *model.run;
    const Index first = model.first_cross(), heads = model.config().heads;
    const bool more = model.step();
    if (more)
        drawing.visit.continue_with([&model, &subject, version = run.version()] {
            Translating* now = subject.translating();
            return now && now->translation() == model.run && model.run->version() == version && model.step();
        });
    const std::vector<double>& measured = model.surest();
    const auto at = [&](std::size_t i) {
        return HeadIndex{first + static_cast<Index>(i) / heads, static_cast<Index>(i) % heads};
    };
    const auto aligned = [&](std::size_t i) { return translating.aligned(at(i)).value_or(-1); };
    std::vector<ui::Bar> bars;
    std::size_t best = 0, card = 0;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        if (measured[i] > measured[best]) best = i;
        if (aligned(i) > aligned(card)) card = i;
        bars.push_back({run.numbering().short_head(at(i)), static_cast<float>(measured[i]),
                        fixed(measured[i], 2) + (aligned(i) >= 0 ? "   aligned " + percent(aligned(i)) : ""),
                        at(i) == model.heads.cross, false});
    }
    std::string told = "The mean of each row’s strongest weight: near 1, a head looks at one word at a time.";
    if (!more)
        told = "Here the surest is " + head_text(at(best), run.numbering()) + ": on average " +
               percent(measured[best]) + " of a row lies on one word.";
    if (!more && aligned(card) >= 0)
        told += " By the model’s card, " + head_text(at(card), run.numbering()) +
                " aligns best: " + percent(aligned(card)) + " of the words of held-out sentences.";
    const auto pointed = [&](Index i) { return at(static_cast<std::size_t>(i)); };
    const auto reply = present::bars(
        drawing,
        {.key = "translation/heads",
         .title = "Which head aligns the two?",
         .value = "mean of each row’s strongest weight",
         .bars = bars,
         .cell = [&](Index i) { return cells::confidence(pointed(i).layer - first, pointed(i).head); },
         .tip = [&](Index i) { return head_text(pointed(i), run.numbering()) + "\nClick to look at it"; }},
        width);
    if (reply.over) drawing.now.head = pointed(*reply.over);
    if (reply.clicked) parts::choose_head(drawing, pointed(*reply.clicked));
    ui::caption(told.c_str());
    ui::landmark_item("translation/best");
}

// ---- The maps ---------------------------------------------------------------------------------------------

void draw_map(Model& model, const Drawing& drawing, std::size_t i, HeadIndex head, float width) {
    static constexpr std::array<const char*, 3> names{"translation/map/cross", "translation/map/decoder",
                                                      "translation/map/encoder"},
        titles{"Cross-attention", "The decoder’s own", "The encoder’s"},
        meanings{"Each word that is written looks at all that was read.",
                 "Each word that is written looks at those before it: the rest is masked.",
                 "Each word that was read looks at all of them."};
    TextRun& run = model.run->of(head.layer);
    const present::Card card(drawing,
                             {.key = names[i],
                              .title = std::string(titles[i]) + ": " + head_text(head, run.numbering()),
                              .notation = meanings[i],
                              .table = [&] { return map_table(*model.run, head); },
                              .is_listed = false},
                             width);
    remembered(model.seen).maps[i].draw(drawing, run, head, names[i], card.width(), map_height);
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.run || model.run->logits.size() == 0) return;
    const std::string look =
        ImGui::GetContentRegionAvail().x < ui::two_columns
            ? "Click a word of either line to see its arcs."
            : "Hover over a word of either line to see its arcs, and click to keep them.";
    ui::hint((look + " Press Play to watch the second line being written.").c_str());
    // On a phone, the lines come first.
    const bool offers = subject.translating()->aligned(model.heads.cross).has_value(),
               narrow = ui::narrow_window();
    if (offers && !narrow) draw_presets(drawing, subject);
    draw_controls(model, drawing, subject);
    const float width = ImGui::GetContentRegionAvail().x;
    draw_lines(model, drawing, subject, width);
    if (offers && narrow) draw_presets(drawing, subject);
    ImGui::Dummy({0, 8});
    ui::columns(
        "translation/maps", least_map, present::card_gap,
        [&](float w) { draw_map(model, drawing, 0, model.heads.cross, w); },
        [&](float w) { draw_map(model, drawing, 1, model.heads.decoder, w); },
        [&](float w) { draw_map(model, drawing, 2, model.heads.encoder, w); });
    ImGui::Dummy({0, 8});
    ui::columns(
        "translation/below", least_map, present::card_gap,
        [&](float w) { draw_heads(model, drawing, subject, w); },
        [&](float w) { subject.draw_beside(drawing, w); });
}

}  // namespace attn::app::translation
