// Draws what the model predicts next, how a token is sampled from that, and generation step by step.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "subjects/sentence/sentence.hpp"
#include "widgets/bars.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app {

namespace {

constexpr std::size_t tokens_shown = 6;

void buttons(SentenceSubject& subject) {
    if (ui::button("next/step", "Step", !subject.playing())) subject.generate_step();
    ui::tooltip("Draw one token and append it to the text");
    ImGui::SameLine();
    if (ui::button("next/play", subject.playing() ? "Pause" : "Play")) subject.play(!subject.playing());
    ui::tooltip("Continue until paused, or until the model's context is full");
}

std::string told(const Candidate& c) {
    return "id " + std::to_string(c.id) + " · logit " + fixed(static_cast<double>(c.logit), 4) +
           " · probability " + fixed(c.probability, 6);
}

}  // namespace

void SentenceSubject::draw_beside(const Drawing& drawing, float width) {
    if (!run() || run()->logits.size() == 0) return;
    const char* title = continues_text() ? "Next token" : "In the last token’s place";
    ui::section(title, true);
    if (continues_text()) {
        ImGui::SameLine(0, 18);
        buttons(*this);
    }

    std::vector<ui::Bar> bars;
    float most = 0;
    for (std::size_t i = 0; i < std::min(next_.candidates.size(), tokens_shown); ++i) {
        const double probability = next_.candidates[i].probability;
        most = std::max(most, static_cast<float>(probability));
        bars.push_back(
            {next_.pieces[i], static_cast<float>(probability), fixed(probability, 4), false, false});
    }
    if (bars.empty())
        ui::caption("The logits of the last position are not finite, so no token can be drawn.");
    else if (const auto over = ui::bar_list("next", title, width, bars, most, ui::sequential_scale(1))) {
        const Candidate& candidate = next_.candidates[static_cast<std::size_t>(*over)];
        drawing.now.cell = CellRef{.stage = Stage::probability, .col = candidate.id};
        ui::bar_tooltip(*over, (told(candidate) + (continues_text() ? "\nClick to append it" : "")).c_str());
        if (continues_text()) {
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            if (ui::clicked()) choose_next(candidate.id);
        }
    }
    draw_sampling(width);
}

void SentenceSubject::draw_sampling(float width) {
    SamplingState s = now().sampling;
    constexpr float gap = 16, second = 290;  // label, slider, number
    const bool two = width >= 2 * second - gap;
    const float first = two ? width - gap - second : width;
    const auto begin = [](const char* name, float wide) {
        ImGui::BeginChild(name, {wide, 0}, ImGuiChildFlags_AutoResizeY, ImGuiWindowFlags_NoScrollbar);
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
    if (s != now().sampling) visit().perform(SetSampling{s}, ui::gesture());
}

}  // namespace attn::app
