// Runs the whole page in a window without a picture. Dear ImGui lays out the frames, simulated mouse and
// keyboard events act on them, and tests read them through their landmarks, as browser tests do.
#pragma once

#include <imgui.h>

#include <string>
#include <vector>

#include "frame/frame.hpp"
#include "unit/app/visit.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::test {

struct Rect {
    float left, top, right, bottom;
};
// Returns where a landmark was in the last frame.
inline Rect rect(const std::string& name) {
    INFO(name);
    REQUIRE(ui::landmarks().contains(name));
    const auto& [min, max] = ui::landmarks().at(name);
    return {min.x, min.y, max.x, max.y};
}

class Screen {
  public:
    explicit Screen(ImVec2 size = {1440, 846}) : previous_(ImGui::GetCurrentContext()) {
        ImGui::SetCurrentContext(context_ = ImGui::CreateContext());
        ImGuiIO& io = ImGui::GetIO();
        io.IniFilename = nullptr;
        io.DisplaySize = size;
        io.DeltaTime = 1.0f / 60;
        io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
        io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
        ui::use_theme(false);
        ui::focus_node("", -1, -1);
        ui::folded() = {};
    }
    ~Screen() {
        for (ImTextureData* texture : ImGui::GetPlatformIO().Textures)
            texture->SetStatus(ImTextureStatus_Destroyed);
        ImGui::DestroyContext(context_);
        ImGui::SetCurrentContext(previous_);
    }
    Screen(const Screen&) = delete;
    Screen& operator=(const Screen&) = delete;

    FakePage page;
    app::Visit visit{page};
    app::Frame frame{visit};
    std::size_t heap_bytes = 0;

    void draw(int frames = 1) {
        for (; frames > 0; --frames) {
            ImGui::NewFrame();
            frame.draw(heap_bytes);
            ImGui::Render();
            for (ImTextureData* texture : ImGui::GetPlatformIO().Textures)
                texture->SetStatus(ImTextureStatus_OK);
        }
    }
    // Alternates frames and work until both are idle in three rounds: what is drawn may ask for more.
    void settle() {
        draw(2);
        for (int quiet = 0, round = 0; quiet < 3 && round < 20'000; ++round) {
            draw();
            quiet = visit.work(40) || visit.busy() || visit.frame_computes() ? 0 : quiet + 1;
        }
        draw(2);
    }

    bool shows(const std::string& landmark) const { return ui::landmarks().contains(landmark); }
    // Opens what hides a landmark, More of a row or the popup of the chosen head, and closes the popup for
    // what lies outside it.
    void bring(const std::string& landmark) {
        if (shows("panel/head") && !(shows(landmark) && lies_in_head(landmark))) press(ImGuiKey_Escape);
        if (shows(landmark)) return;
        std::vector<std::string> closed;
        for (const auto& [name, place] : ui::landmarks())
            if (name.starts_with("more/") && !ui::folded().rows.contains(name.substr(5)))
                closed.push_back(name);
        for (const std::string& more : closed) {
            press_at(more);
            if (shows(landmark)) return;
            press_at(more);
        }
        if (ui::narrow_window() || !shows("head-name")) return;
        press_at("head-name");
        draw(2);
        if (!shows(landmark)) press(ImGuiKey_Escape);
    }

    ImVec2 middle(const std::string& landmark) const {
        INFO("the landmark " << landmark);
        REQUIRE(shows(landmark));
        const auto& [min, max] = ui::landmarks().at(landmark);
        return {(min.x + max.x) / 2, (min.y + max.y) / 2};
    }
    void hover(const std::string& landmark) {
        bring(landmark);
        const ImVec2 at = middle(landmark);
        ImGui::GetIO().AddMousePosEvent(at.x, at.y);
        draw(2);
    }
    void click(const std::string& landmark) {
        bring(landmark);
        press_at(landmark);
    }
    void type(const char* text) {
        ImGui::GetIO().AddInputCharactersUTF8(text);
        draw(2);
    }
    void press(ImGuiKey key) {
        ImGui::GetIO().AddKeyEvent(key, true);
        draw();
        ImGui::GetIO().AddKeyEvent(key, false);
        draw(2);
    }

    // Does something while a key is held.
    void hold(ImGuiKey key, auto&& doing) {
        ImGui::GetIO().AddKeyEvent(key, true);
        draw();
        doing();
        ImGui::GetIO().AddKeyEvent(key, false);
        draw();
    }

    // Opens a model of two layers on a text of `words` words.
    void open_sentence(Index words = 6) {
        load_tiny_model(visit);
        write_words(words);
    }
    // Writes a text of this many words, for the open model.
    void write_words(Index words) {
        visit.perform(app::SetText{"some words"});
        std::vector<std::int32_t> ids;
        std::vector<std::string> pieces;
        for (Index i = 0; i < words; ++i) {
            ids.push_back(static_cast<std::int32_t>(i % 5));
            pieces.push_back("word" + std::to_string(i));
        }
        visit.tokens({app::Box::first, "some words", ids, pieces, words});
        settle();
    }
    void train_some(std::int64_t steps = 4) {
        app::TrainingPlan plan = app::training_presets()[0].plan;
        plan.layers = 2;
        plan.heads = 2;
        plan.d_model = 16;
        plan.context = 16;
        plan.batch = 1;
        visit.perform(app::OpenSubject{app::training_subject});
        visit.perform(app::SetTrainingPlan{plan});
        visit.perform(app::ShowTrainingStep{steps});
        for (int i = 0; i < 5000 && visit.work(5); ++i) continue;
        settle();
    }

  private:
    bool lies_in_head(const std::string& landmark) const {
        const ImVec2 at = middle(landmark);
        const auto& [min, max] = ui::landmarks().at("panel/head");
        return at.x >= min.x && at.x < max.x && at.y >= min.y && at.y < max.y;
    }
    void press_at(const std::string& landmark) {
        const ImVec2 at = middle(landmark);
        ImGui::GetIO().AddMousePosEvent(at.x, at.y);
        draw(2);
        ImGui::GetIO().AddMouseButtonEvent(0, true);
        draw();
        ImGui::GetIO().AddMouseButtonEvent(0, false);
        draw(2);
    }

    ImGuiContext *previous_, *context_ = nullptr;
};

}  // namespace attn::test
