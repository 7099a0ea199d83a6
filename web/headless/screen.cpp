#include "headless/screen.hpp"

#include <imgui.h>

#include "widgets/theme.hpp"

namespace attn::headless {

namespace {

constexpr ImVec2 window_size{1440, 846};

ImGuiContext* made_context() {
    ImGuiContext* context = ImGui::CreateContext();
    ImGui::SetCurrentContext(context);
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.DisplaySize = window_size;
    io.DeltaTime = 1.0f / 60;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasTextures;
    ui::use_theme(false);
    return context;
}

}  // namespace

Screen::Screen(HeadlessPage& page, app::Visit& visit)
    : page_(page), previous_(ImGui::GetCurrentContext()), context_(made_context()), frame_(visit) {}

Screen::~Screen() {
    ImGui::SetCurrentContext(context_);
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures)
        texture->SetStatus(ImTextureStatus_Destroyed);
    ImGui::DestroyContext(context_);
    ImGui::SetCurrentContext(previous_);
}

void Screen::draw(app::Visit&) {
    ImGui::SetCurrentContext(context_);
    ImGui::NewFrame();
    frame_.draw(0);
    ImGui::Render();
    for (ImTextureData* texture : ImGui::GetPlatformIO().Textures) texture->SetStatus(ImTextureStatus_OK);
}

}  // namespace attn::headless
