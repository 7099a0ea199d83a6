#include "frame/palette.hpp"

#include <imgui.h>

#include <algorithm>

#include "app/stage_words.hpp"
#include "io/ascii.hpp"
#include "learn/panel.hpp"
#include "lenses/lens.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"

namespace attn::app {

namespace {

constexpr Index most_tokens = 4096, most_heads = 4096;
constexpr std::size_t most_shown = 10;
constexpr float palette_width = 520, line_height = 32, most_from_top = 90, touch_field_height = 40;

learn::LessonPanel& lessons_of(Visit& visit) { return visit.shared_with<learn::LessonPanel>(visit); }

// Identifies an entry by its name, not by its place, which changes with what is typed.
std::string node_key(const PaletteEntry& entry) {
    return "palette/" + std::string(entry.kind) + "/" + entry.label;
}

void add(std::vector<PaletteEntry>& to, std::string label, std::string_view kind, Command command) {
    to.push_back({std::move(label), kind, [command = std::move(command)](Visit& v) { v.perform(command); }});
}

// Each entry goes to the head that has the role most strongly, and from there to the next best.
void add_finds(std::vector<PaletteEntry>& to, const Visit& visit) {
    const NamedHeads* named = subject_in(visit).named_heads();
    if (!named) return;
    const Layers layers = subject_in(visit).head_count().layers;
    Selection selection = visit.state().selection;
    const HeadIndex chosen{selection.layer, selection.head};
    for (std::size_t i = 0; i < head_roles.size(); ++i) {
        const auto role = static_cast<HeadRole>(i);
        const auto next = next_of_role(named->table, role, chosen);
        if (!next) continue;
        selection.layer = next->layer;
        selection.head = next->head;
        add(to, std::string("Find a head that ") + info(role).finds + "   " + head_text(*next, layers),
            "head", Select{selection});
    }
}

void add_heads(std::vector<PaletteEntry>& to, const Visit& visit) {
    const HeadCount count = subject_in(visit).head_count();
    const NamedHeads* named = subject_in(visit).named_heads();
    if (count.all() > most_heads || count.all() < 2) return;
    for (Index layer = 0; layer < count.layers.count; ++layer)
        for (Index head = 0; head < count.heads; ++head) {
            Selection selection = visit.state().selection;
            selection.layer = layer;
            selection.head = head;
            const std::string name = named ? named->name({layer, head}) : "";
            add(to,
                "head " + count.layers.short_head({layer, head}) + "   " +
                    head_text({layer, head}, count.layers) + (name.empty() ? "" : " · " + name),
                "head", Select{selection});
        }
}

void add_tokens(std::vector<PaletteEntry>& to, const Visit& visit) {
    const Attention* attention = subject_in(visit).attention();
    if (!attention || !attention->has_tokens()) return;
    const auto& names = attention->query_names();
    for (Index i = 0; i < std::min(std::ssize(names), most_tokens); ++i) {
        Selection selection = visit.state().selection;
        selection.query = i;
        selection.key.reset();
        add(to, curly_quoted(names[static_cast<std::size_t>(i)]) + "   token " + std::to_string(i), "token",
            Select{selection});
    }
}

void add_settings(std::vector<PaletteEntry>& to, const Visit& visit) {
    const Attention* attention = subject_in(visit).attention();
    if (!attention) return;
    const MapChoice now = looks_of(visit.state()).map;
    const auto with = [&](const std::string& label, auto change) {
        MapChoice map = now;
        change(map);
        if (map != now) add(to, label, "setting", SetMap{map});
    };
    for (const Stage stage : attention->stages())
        with("map of " + label(stage), [&](MapChoice& map) { map.stage = stage; });
    with("map colours: linear", [](MapChoice& map) { map.scaling = Scaling::linear; });
    with("map colours: logarithmic", [](MapChoice& map) { map.scaling = Scaling::logarithmic; });
    with("map colours: by rank", [](MapChoice& map) { map.scaling = Scaling::rank; });
    with("map without the first key", [](MapChoice& map) { map.sink = Sink::hidden; });
    if (attention->has(Unit::words)) {
        with("map by words", [](MapChoice& map) { map.unit = Unit::words; });
        with("map by tokens", [](MapChoice& map) { map.unit = Unit::tokens; });
    }
    for (std::size_t i = 0; i < head_scores.size(); ++i)
        add(to, std::string("heads by ") + head_scores[i].name, "setting",
            SetHeads{{static_cast<HeadScore>(i), std::nullopt}});
    add(to, "heads by layer", "setting", SetHeads{});
}

// If the open subject has nothing to base the introduction on, the first subject always has.
void introduce(Visit& visit) {
    Subject& subject = subject_in(visit);
    if (subject.learning() || !subject.attention() || !subject.ladder())
        visit.perform(OpenSubject{subject_list().front().key});
    lessons_of(visit).open(first_lesson);
}

void add_lessons(std::vector<PaletteEntry>& to, Visit& visit) {
    to.push_back({"Introduction   help for those new to attention: the first lesson", "lesson", introduce});
    to.push_back({"Lessons   learn attention step by step: the list of all lessons", "command",
                  [](Visit& v) { lessons_of(v).show_list(true); }});
    to.push_back(
        {"Write a lesson   teach with this page", "command", [](Visit& v) { lessons_of(v).write(); }});
    to.push_back({"Save as one page   a file that opens without a server or a network", "command",
                  [](Visit& v) { v.page().save_page(); }});
    to.push_back(
        {"Embed   show this view in a page of yours", "command", [](Visit& v) { v.page().show_embed(); }});
    for (const learn::LessonEntry& each : lessons_of(visit).library().lessons())
        to.push_back({each.title + "   " + learn::needs_told(each.needs), "lesson",
                      [name = each.name](Visit& v) { lessons_of(v).open(name); }});
}

}  // namespace

std::vector<PaletteEntry> palette_entries(Visit& visit) {
    std::vector<PaletteEntry> all;
    for (const LensEntry& lens : lens_list())
        all.push_back({std::string(lens.name) + "   " + lens.meaning, "lens",
                       [&lens](Visit& v) { open_lens(v, lens.key); }});
    for (const SubjectEntry& subject : subject_list())
        add(all, subject.name, "subject", OpenSubject{subject.key});
    for (const SubjectEntry& subject : subject_list())
        for (Offer& offer : subject_in(visit, subject.key).offers()) {
            const bool open = subject.key == visit.state().subject;
            add(all, std::move(offer.label), subject.name,
                open ? offer.command : Together{{OpenSubject{subject.key}, offer.command}});
        }
    if (TextModel* model = subject_in(visit).text_model())
        for (Request& request : model->requests())
            all.push_back(
                {std::move(request.label), "command", [make = std::move(request.make)](Visit&) { make(); }});
    add_lessons(all, visit);
    all.push_back({"Undo", "command", [](Visit& v) { v.undo(); }});
    all.push_back({"Redo", "command", [](Visit& v) { v.redo(); }});
    for (const int percent : {100, 125, 150, 200})
        all.push_back({"Text size: " + std::to_string(percent) + " %", "setting",
                       [percent](Visit& v) { v.page().set_text_size(percent); }});
    add_finds(all, visit);
    add_settings(all, visit);
    add_heads(all, visit);
    add_tokens(all, visit);
    return all;
}

std::vector<PaletteEntry> found_in(std::vector<PaletteEntry> entries, std::string_view text,
                                   std::size_t most) {
    std::vector<std::string> words;
    const std::string wanted = ascii_lower(text);
    for (std::size_t at = 0; at < wanted.size();) {
        const std::size_t end = std::min(wanted.find(' ', at), wanted.size());
        if (end > at) words.push_back(wanted.substr(at, end - at));
        at = end + 1;
    }
    // The rank is 0 if the name begins with the text, 1 if some of its words begin with the text's words, and
    // 2 if it contains them.
    const auto rank = [&](const PaletteEntry& entry) {
        const std::string label = ascii_lower(entry.label) + " " + ascii_lower(entry.kind);
        int worst = 0;
        for (const std::string& word : words) {
            const std::size_t at = label.find(word);
            if (at == std::string::npos) return 3;
            const bool begins = at == 0 || label.find(" " + word) != std::string::npos ||
                                label.find("“" + word) != std::string::npos;
            worst = std::max(worst, begins ? 1 : 2);
        }
        return label.starts_with(wanted) ? 0 : worst;
    };
    std::vector<PaletteEntry> found;
    for (const int wanted_rank : {0, 1, 2})
        for (PaletteEntry& entry : entries)
            if (found.size() < most && entry.act && rank(entry) == wanted_rank)
                found.push_back(std::exchange(entry, {}));
    return found;
}

void Palette::close() {
    open_ = false;
    found_.clear();
    ImGui::CloseCurrentPopup();
}

void Palette::draw(Visit& visit) {
    if (std::exchange(opens_, false) && !open_) {
        typing_ = ui::Typing();
        searched_ = "\n";  // no search text equals this, so the first search runs at once
        open_ = true;
        ImGui::OpenPopup("palette");
    }
    if (!open_) return;
    const ImGuiViewport* view = ImGui::GetMainViewport();
    const float width = std::min(palette_width, view->Size.x - 24);
    ImGui::SetNextWindowPos({view->Pos.x + (view->Size.x - width) / 2,
                             view->Pos.y + std::min(view->Size.y * 0.1f, most_from_top)});
    ImGui::SetNextWindowSize({width, 0});
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, {10, 10});
    const bool shown =
        ImGui::BeginPopup("palette", ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings);
    ImGui::PopStyleVar();
    if (!shown) {
        open_ = false;
        return;
    }
    ImGui::SetNextItemWidth(-1);
    bool entered = false;  // entered in the page's text field
    if (ui::by_touch()) {
        ImGui::Dummy({ImGui::CalcItemWidth(), touch_field_height});
        if (const auto typed =
                ui::page_field({.key = "palette", .name = "Find", .text = std::string(typing_.text())})) {
            typing_ = ui::Typing(typed->text);
            entered = typed->entered;
        }
    } else {
        typing_.gather();
        typing_.draw("##find", "Find a lens, a lesson, an example, a head, a token …");
        ui::Node& field = ui::semantic_field(ui::Role::combobox, "palette", "Find", typing_.text());
        if (at_ < found_.size()) field.active = node_key(found_[at_]);
    }
    ui::landmark_item("palette");
    if (searched_ != typing_.text()) {
        searched_ = typing_.text();
        found_ = found_in(palette_entries(visit), searched_, most_shown);
        at_ = 0;
    }
    if (!found_.empty()) {
        if (ImGui::IsKeyPressed(ImGuiKey_DownArrow)) at_ = (at_ + 1) % found_.size();
        if (ImGui::IsKeyPressed(ImGuiKey_UpArrow)) at_ = (at_ + found_.size() - 1) % found_.size();
    }
    std::function<void(Visit&)> act;
    ui::begin_semantic_group(ui::Role::listbox, "palette/found", "Found");
    ImGui::PushItemFlag(ImGuiItemFlags_NoNav, true);  // the palette handles the arrow keys itself
    for (std::size_t i = 0; i < found_.size(); ++i) {
        const PaletteEntry& entry = found_[i];
        ImGui::PushID(static_cast<int>(i));
        const ImVec2 corner = ImGui::GetCursorScreenPos();
        if (ImGui::Selectable("##entry", i == at_, 0, {0, line_height - 4})) act = entry.act;
        ui::landmark_item("palette/" + std::to_string(i));
        ui::semantic_item(ui::Role::option, node_key(entry), entry.label + ", " + std::string(entry.kind))
            .on = i == at_;
        ImDrawList* list = ImGui::GetWindowDrawList();
        const float right = ImGui::GetItemRectMax().x - 6;
        const std::string kind(entry.kind);
        const float kind_width = ui::text_size(kind).x;
        const float top = corner.y + (line_height - 4 - ImGui::GetFontSize()) / 2;
        ui::draw_text_within(list, {corner.x + 8, top}, right - corner.x - kind_width - 24, ui::theme().text,
                             entry.label);
        ui::draw_text(list, {right - kind_width, top}, ui::theme().dim, kind);
        ImGui::PopID();
    }
    ImGui::PopItemFlag();
    ui::end_semantic_group();
    if (found_.empty()) ui::caption("Nothing here has that name.");
    if (typing_.entered() || entered) {
        if (at_ < found_.size()) act = found_[at_].act;
        typing_ = ui::Typing(typing_.text());  // after a search without results, the field keeps the keyboard
    }
    if (act || ImGui::IsKeyPressed(ImGuiKey_Escape)) close();
    ImGui::EndPopup();
    if (act) act(visit);
}

}  // namespace attn::app
