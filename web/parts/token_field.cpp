#include "parts/token_field.hpp"

#include <imgui.h>

#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::parts {

namespace {

constexpr std::size_t longest_token = 60;

}  // namespace

void token_field(const char* landmark, const char* label, const char* meaning, app::TokenSearch& search) {
    ImGui::BeginGroup();
    ui::label(label);
    const ui::Typed typed = ui::text_field(landmark, meaning, search.typed, longest_token, ui::menu_width);
    ui::tooltip("Type a token of this model’s vocabulary, without the blank before it");
    ImGui::EndGroup();
    if (typed.changed) {
        search.fault.clear();
        search.on = !search.typed.empty();
    }
    if (typed.too_long)
        search.fault = "A token has at most " + std::to_string(longest_token) + " letters here.";
}

}  // namespace attn::parts
