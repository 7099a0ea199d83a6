// Draws what the model predicts next, how a token is sampled from that, and generation step by step; or how
// it fills in masks, and how to mask a text.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "present/present.hpp"
#include "subjects/sentence/fill_hint.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/vocabulary.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app {

namespace {

constexpr std::size_t tokens_shown = 6;

void buttons(SentenceSubject& subject) {
    const Status possible = subject.may_generate();
    if (ui::button("next/step", "Step",
                   possible && subject.playing() ? Error{"Pause first to go step by step."} : possible))
        subject.generate_step();
    if (possible)
        ui::tooltip(subject.writes_another() ? "Draw one token and append it to what is written"
                                             : "Draw one token and append it to the text");
    ui::next_control(ui::need::button);
    if (ui::button("next/play", subject.playing() ? "Pause" : "Play", {"Play", "Pause"},
                   subject.playing() ? ok() : possible))
        subject.play(!subject.playing());
    if (possible)
        ui::tooltip(subject.writes_another()
                        ? "Continue until the model ends its text; from there, begin anew"
                        : "Continue until paused, or until the model's context is full");
}

}  // namespace

bool SentenceSubject::may_choose_next() const { return continues_text() || !masked().empty(); }

// Returns the tooltip of one of the most likely tokens.
std::string SentenceSubject::candidate_told(std::size_t i) const {
    const Candidate& c = next_.candidates[i];
    return "id " + std::to_string(c.id) + " · logit " + fixed(static_cast<double>(c.logit), 4) +
           "\nprobability " + fixed(c.probability, 6) + " " + at_temperature +
           (continues_text() ? "\nStep and Play draw it with probability " + fixed(next_.drawn[i], 6) +
                                   "\nClick to append it"
            : may_choose_next() ? "\nClick to write it there"
                                : "");
}

std::string SentenceSubject::prediction_title() const {
    if (continues_text())
        return is_cut() ? "Next token after the first " + std::to_string(run()->tokens()) : "Next token";
    const std::vector<Index> masks = masked();
    if (masks.empty()) return "In place of " + curly_quoted(label_at(run()->pieces, run()->predicted()));
    if (masks.size() == 1) return "In place of the mask";
    const auto which = std::ranges::find(masks, run()->predicted()) - masks.begin();
    return "In place of mask " + std::to_string(which + 1) + " of " + std::to_string(masks.size());
}

void SentenceSubject::draw_beside(const Drawing& drawing, float width) {
    if (!run() || run()->logits.size() == 0) return;
    present::Bars shown{.key = "next",
                        .title = prediction_title() + ", " + at_temperature,
                        .value = "probability",
                        .bars = {},
                        .most = 0,
                        .tip = [this](Index bar) { return candidate_told(static_cast<std::size_t>(bar)); },
                        .controls = [this] { continues_text() ? buttons(*this) : draw_masking(); }};
    for (std::size_t i = 0; i < std::min(next_.candidates.size(), tokens_shown); ++i) {
        const double probability = next_.candidates[i].probability;
        shown.most = std::max(shown.most, static_cast<float>(probability));
        shown.bars.push_back({next_.pieces[i], static_cast<float>(probability), fixed(probability, 4)});
    }
    if (shown.bars.empty()) shown.notation = "The logits here are not finite, so no token has a probability.";
    const present::BarReply reply = present::bars(drawing, shown, width);
    if (reply.over) {
        const Candidate& candidate = next_.candidates[static_cast<std::size_t>(*reply.over)];
        drawing.now.cell = RunCell{.stage = Stage::probability, .col = candidate.id};
        if (may_choose_next()) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        if (may_choose_next() && reply.clicked) choose_next(candidate.id);
    }
    if (continues_text()) {
        draw_sampling(width);
    } else {
        draw_fill_hints();
        draw_segments();
    }
    draw_experts(drawing, width);
}

// Says how the settings beside Play change the model's own probabilities.
std::string SentenceSubject::sampling_told() const {
    if (next_.candidates.empty()) return "";
    const SamplingState& s = now().sampling;
    const std::string first = curly_quoted(Vocabulary::bare(next_.pieces.front()));
    const Index all = run()->logits.size();
    if (s.temperature == 0) return "Step and Play take the likeliest token, " + first + ".";
    const std::string drawn = percent(next_.drawn.front()),
                      own = percent(next_.candidates.front().probability);
    if (s.temperature == 1 && next_.kept == all) return "Step and Play draw with these probabilities.";
    return "Step and Play draw from " + (next_.kept == all ? "all" : with_commas(next_.kept) + " of") + " " +
           with_commas(all) + " tokens at temperature " + shortest(s.temperature) + ": " + first + " with " +
           drawn + (drawn == own ? ", as without these settings." : " instead of " + own + ".");
}

// Draws the most likely tokens of both compared runs, once both are complete.
void SentenceSubject::draw_next_of_both() {
    constexpr Index shown = 4;
    TextRun* second = compared_run();
    if (!run() || !second || run()->logits.size() == 0 || second->logits.size() == 0) return;
    const bool texts = now().compared && now().compared->of_text();
    const auto names = texts ? std::pair<std::string, std::string>{"first", "second"} : comparison_names();
    const auto draw = [&](const TextRun& of, NextTold& told, const std::string& name, const char* landmark) {
        if (told.version != of.version() || told.token != of.predicted()) {
            told = {of.version(), of.predicted(), ""};
            const auto likeliest = next_token_distribution(of.logits.values(), {.temperature = 1}, shown);
            std::vector<std::int32_t> ids;
            for (const Candidate& c : likeliest) ids.push_back(c.id);
            auto pieces = visit().page().ids_to_text(ids);
            pieces.resize(ids.size());
            for (std::size_t i = 0; i < ids.size(); ++i)
                told.text += (i == 0 ? "" : ", ") + curly_quoted(Vocabulary::bare(pieces[i])) + " " +
                             percent(likeliest[i].probability);
        }
        ui::caption((name + ", " + (continues_text() ? "next" : "in its place") + ": " + told.text + ", " +
                     at_temperature + ".")
                        .c_str());
        ui::landmark_item(landmark);
    };
    draw(*run(), next_told_[0], capitalised(names.first), "compare/next/first");
    draw(*second, next_told_[1], capitalised(names.second), "compare/next/second");
}

void SentenceSubject::draw_masking() {
    const auto word = maskable_word();
    if (!word) return;
    const std::string label = mask_label(*word);
    if (ui::button("next/mask", label.c_str())) mask_word();
}

void SentenceSubject::draw_fill_hints() {
    const auto word = maskable_word();
    const std::string hint = !special_.mask
                                 ? "The tokenizer has no mask, so the model sees the word itself."
                                 : fill_hint(std::ssize(masked()), word ? run()->words.of(*word).size() : 0);
    ui::caption(hint.c_str());
    ui::landmark_item("next/masked");
}

// Says which tokens belong to which sentence, or how to enter two.
void SentenceSubject::draw_segments() {
    if (open_.model->config().segments < 2 || !special_.separator) return;
    const std::string separator = token_texts(std::array{*special_.separator}).front();
    if (run()->run->segments().empty())
        ui::caption(("Type " + separator + " between two sentences to make a pair.").c_str());
    else
        ui::caption(("Two sentences: tokens up to the first " + separator +
                     " are of segment A, those after it of segment B.")
                        .c_str());
    ui::landmark_item("next/segments");
}

void SentenceSubject::draw_sampling(float width) {
    SamplingState s = now().sampling;
    constexpr float gap = 16, second = 290;  // label, slider, number
    const bool two = width >= 2 * second - gap;
    const float first = two ? width - gap - second : width;
    const auto begin = [](const char* name, float wide) {
        ImGui::BeginChild(name, {wide, 0}, ImGuiChildFlags_AutoResizeY, ImGuiWindowFlags_NoScrollbar);
        ui::lay_out_unseen();
    };
    begin("one", first);
    if (const auto t =
            ui::slider("next/temperature", "temperature", static_cast<double>(s.temperature), 0, 3, "%.2f"))
        s.temperature = static_cast<float>(*t);
    if (const auto p = ui::slider("next/top_p", "top-p", static_cast<double>(s.top_p), 0.01, 1, "%.2f"))
        s.top_p = static_cast<float>(*p);
    ImGui::EndChild();
    if (two) ImGui::SameLine(0, gap);
    begin("two", two ? second : width);
    const Index vocabulary = run()->logits.size();
    // 0 means all, so the slider's right end is the whole vocabulary.
    const bool every = s.top_k == 0 || s.top_k >= vocabulary;
    const auto top_k = static_cast<double>(every ? vocabulary : s.top_k);
    if (const auto k = ui::slider("next/top_k", "top-k", top_k, 1, static_cast<double>(vocabulary),
                                  every ? "all" : "%.0f", true)) {
        const auto chosen = static_cast<Index>(std::lround(*k));
        s.top_k = chosen >= vocabulary ? 0 : chosen;
    }
    if (const auto seed = ui::stepper("next/seed", "seed", static_cast<Index>(s.seed), 0, Index{1} << 30))
        s.seed = static_cast<std::uint64_t>(*seed);
    ImGui::EndChild();
    if (const std::string what = sampling_told(); !what.empty()) ui::caption(what.c_str());
    ui::landmark_item("next/sampling");
    if (s != now().sampling) visit().perform(SetSampling{s}, ui::gesture());
}

}  // namespace attn::app
