#include "parts/text_pairs.hpp"

#include "subjects/subject.hpp"
#include "widgets/controls.hpp"

namespace attn::parts {

bool draw_text_pair(const app::Drawing& drawing, const TextPair& pair, const app::Command& set) {
    const std::string written = pair.written;
    const auto opens = app::command_of_models(drawing.visit, [&](const app::TextModel& model) {
        return written.empty() ? model.reads(pair.text, pair.counterfactual)
                               : model.translates({pair.text, written},
                                                  {pair.counterfactual, pair.counterfactual_written});
    });
    if (!opens || !ui::next_button(pair.name)) return false;
    const std::string_view lens = drawing.state().lens;
    const bool pressed = ui::button((std::string(lens) + "/preset/" + pair.key).c_str(), pair.name);
    ui::tooltip((std::string(pair.text) + (written.empty() ? "" : "\n") + written).c_str());
    if (pressed) drawing.visit.perform(app::Together{{*opens, set, app::OpenLens{lens}}});
    return pressed;
}

}  // namespace attn::parts
