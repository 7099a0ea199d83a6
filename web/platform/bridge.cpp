// Defines the functions that the shell's JavaScript calls, and implements the Page through the shell.
// web/shell/contract.d.ts describes the contract.
#include <emscripten.h>
#include <imgui.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/clock.hpp"
#include "app/link.hpp"
#include "app/link_text.hpp"
#include "app/table.hpp"
#include "io/quote.hpp"
#include "platform/capture.hpp"
#include "platform/glyphs.hpp"
#include "platform/program.hpp"
#include "platform/window.hpp"
#include "widgets/controls.hpp"
#include "widgets/page_field.hpp"
#include "widgets/script.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"
#include "widgets/wording.hpp"

namespace attn::platform {

namespace {

EM_JS_DEPS(bridge, "$UTF8ToString,$stringToNewUTF8")
EM_JS(void, js_notice, (const char* text, int error),
      { Module.shell.notice(UTF8ToString(text), error ? "error" : "info"); });
EM_JS(void, js_announce, (const char* text), { Module.shell.announce(UTF8ToString(text)); });
EM_JS(void, js_set_url, (const char* fragment, int push),
      { Module.shell.setUrl(UTF8ToString(fragment), !!push); });
EM_JS(void, js_set_sentence, (const char* text, int enabled, int tokenized, const char* placeholder),
      { Module.shell.setSentence(UTF8ToString(text), !!enabled, !!tokenized, UTF8ToString(placeholder)); });
EM_JS(void, js_hide_sentence, (), { Module.shell.hideSentence(); });
EM_JS(void, js_set_lower_box, (int box, const char* text, const char* placeholder, int continued),
      { Module.shell.setLowerBox(box, UTF8ToString(text), UTF8ToString(placeholder), !!continued); });
EM_JS(void, js_hide_lower_box, (int box), { Module.shell.hideLowerBox(box); });
EM_JS(void, js_set_title, (const char* title), { Module.shell.setTitle(UTF8ToString(title)); });
EM_JS(void, js_set_history, (int can_undo, int can_redo),
      { Module.shell.setHistory(!!can_undo, !!can_redo); });
EM_JS(int, js_open_named, (const char* name), { return Module.shell.openNamed(UTF8ToString(name)) ? 1 : 0; });
EM_JS(void, js_give_file, (const char* path, const std::byte* bytes, int size),
      { Module.shell.giveFile(UTF8ToString(path), bytes, size); });
EM_JS(void, js_open_given, (int awaited), { Module.shell.openGiven(!!awaited); });
EM_JS(void, js_download, (const char* name, const std::byte* bytes, int size, const char* mime),
      { Module.shell.download(UTF8ToString(name), bytes, size, UTF8ToString(mime)); });
EM_JS(void, js_append_token, (int box, int id), { Module.shell.appendToken(box, id); });
EM_JS(void, js_write_tokens, (int first, int count, const std::int32_t* ids, int size),
      { Module.shell.writeTokens(first, count, Array.from(new Int32Array(HEAPU8.buffer, ids, size))); });
EM_JS(char*, js_special_tokens, (), { return stringToNewUTF8(Module.shell.specialTokens()); });
EM_JS(char*, js_ids_to_text, (const std::int32_t* ids, int count), {
    return stringToNewUTF8(Module.shell.idsToText(Array.from(new Int32Array(HEAPU8.buffer, ids, count))));
});
EM_JS(char*, js_text_to_ids, (const char* text),
      { return stringToNewUTF8(Module.shell.textToIds(UTF8ToString(text))); });
EM_JS(void, js_set_field,
      (const char* key, const char* name, const char* text, int number, int lines, int begin, int end,
       int left, int top, int width, int height),
      {
          Module.shell.setField(UTF8ToString(key), UTF8ToString(name), UTF8ToString(text), !!number, !!lines,
                                begin < 0 ? null : [ begin, end ], left, top, width, height);
      });
EM_JS(void, js_hide_field, (const char* key), { Module.shell.hideField(UTF8ToString(key)); });
EM_JS(void, js_semantics_changed, (), { Module.shell.semanticsChanged(); });
EM_JS(int, js_canvas_reads, (), { return Module.shell.canvasReads() ? 1 : 0; });
EM_JS(void, js_fetch_lesson, (const char* name), { Module.shell.fetchLesson(UTF8ToString(name)); });
EM_JS(void, js_copy_link, (const char* fragment), { Module.shell.copyLink(UTF8ToString(fragment)); });
EM_JS(void, js_ask_figure, (const char* caption), { Module.shell.askFigure(UTF8ToString(caption)); });
EM_JS(void, js_show_embed, (), { Module.shell.showEmbed(); });
EM_JS(void, js_open_whole, (), { Module.shell.openWhole(); });
EM_JS(void, js_save_page, (), { Module.shell.savePage(); });
EM_JS(void, js_choose_tensors, (), { Module.shell.chooseTensors(); });
EM_JS(void, js_show_table, (const char* title), { Module.shell.showTable(UTF8ToString(title)); });
EM_JS(void, js_remember, (const char* what, const char* value),
      { Module.shell.remember(UTF8ToString(what), UTF8ToString(value)); });
EM_JS(void, js_set_text_size, (int percent), { Module.shell.setTextSize(percent); });
EM_JS(void, js_copy, (const char* text), { Module.shell.copy(UTF8ToString(text)); });

const char* mime_of(std::string_view file) {
    if (file.ends_with(".zip")) return "application/zip";
    if (file.ends_with(".png")) return "image/png";
    if (file.ends_with(".svg")) return "image/svg+xml";
    if (file.ends_with(".csv")) return "text/csv";
    if (file.ends_with(".md")) return "text/markdown";
    if (file.ends_with(".html")) return "text/html";
    return "application/octet-stream";
}

class ShellPage : public app::Page {
  public:
    void draw_now() override { platform::draw_now(); }
    void notice(const std::string& sentence, bool error) override {
        js_notice(ui::for_pointer(sentence).c_str(), error);
    }
    void announce(const std::string& sentence) override { js_announce(ui::for_pointer(sentence).c_str()); }
    void set_url(const std::string& fragment, bool push) override { js_set_url(fragment.c_str(), push); }
    void set_sentence(const std::string& text, bool enabled, bool tokenized,
                      const std::string& placeholder) override {
        js_set_sentence(text.c_str(), enabled, tokenized, ui::for_pointer(placeholder).c_str());
    }
    void hide_sentence() override { js_hide_sentence(); }
    void set_lower_box(app::Box which, const app::LowerBox& box) override {
        js_set_lower_box(static_cast<int>(which), box.text.c_str(), box.placeholder.c_str(), box.continued);
    }
    void hide_lower_box(app::Box which) override { js_hide_lower_box(static_cast<int>(which)); }
    void set_title(const std::string& title) override { js_set_title(title.c_str()); }
    void set_history(bool can_undo, bool can_redo) override { js_set_history(can_undo, can_redo); }
    bool open_named(const std::string& name) override { return js_open_named(name.c_str()) != 0; }
    void open_files(const std::string& folder, const std::map<std::string, std::vector<std::byte>>& files,
                    bool awaited) override {
        for (const auto& [name, bytes] : files)
            js_give_file((folder + "/" + name).c_str(), bytes.data(), static_cast<int>(bytes.size()));
        js_open_given(awaited);
    }
    void ask_figure(const std::string& title) override { js_ask_figure(frame().caption(title).c_str()); }
    void show_embed() override { js_show_embed(); }
    void open_whole() override { js_open_whole(); }
    void save_page() override { js_save_page(); }
    void copy_link(const std::string& fragment) override { js_copy_link(fragment.c_str()); }
    void fetch_lesson(const std::string& name) override { js_fetch_lesson(name.c_str()); }
    void download(const std::string& name, std::span<const std::byte> bytes) override {
        js_download(name.c_str(), bytes.data(), static_cast<int>(bytes.size()), mime_of(name));
    }
    void download_picture(const std::string& name, const std::string& landmark, int scale) override {
        if (js_canvas_reads() == 0) {
            visit().picture_taken();
            return notice(
                "This browser resists fingerprinting: it answers with noise where the page reads a drawing, "
                "so a PNG cannot be saved. Allow this site to read canvas data and reload, or save the "
                "numbers instead.",
                true);
        }
        capture(landmark, scale, [this, name](std::vector<std::byte> png) {
            visit().picture_taken();
            if (!png.empty()) download(name, png);
        });
    }
    void choose_tensors() override { js_choose_tensors(); }
    void show_table(const std::string& title) override { js_show_table(title.c_str()); }
    void remember(const std::string& what, const std::string& value) override {
        js_remember(what.c_str(), value.c_str());
    }
    void set_text_size(int percent) override { js_set_text_size(percent); }
    void append_token(app::Box box, std::int32_t id) override { js_append_token(static_cast<int>(box), id); }
    void write_tokens(Range tokens, std::span<const std::int32_t> ids) override {
        js_write_tokens(static_cast<int>(tokens.begin), static_cast<int>(tokens.size()), ids.data(),
                        static_cast<int>(ids.size()));
    }
    app::SpecialTokens special_tokens() override {
        char* json = js_special_tokens();
        const auto told = nlohmann::json::parse(json, nullptr, false);
        std::free(json);
        app::SpecialTokens special;
        const auto id = [&](const char* name) -> std::optional<std::int32_t> {
            return told[name].is_number_integer() ? std::optional(told[name].get<std::int32_t>())
                                                  : std::nullopt;
        };
        if (!told.is_object()) return special;
        special.mask = id("mask");
        special.separator = id("separator");
        for (const auto& each : told["all"]) special.all.push_back(each.get<std::int32_t>());
        return special;
    }
    std::vector<std::string> ids_to_text(std::span<const std::int32_t> ids) override {
        char* json = js_ids_to_text(ids.data(), static_cast<int>(ids.size()));
        std::vector<std::string> pieces = strings(json);
        std::free(json);
        return pieces;
    }

    std::vector<std::int32_t> text_to_ids(const std::string& text) override {
        char* json = js_text_to_ids(text.c_str());
        const auto parsed = nlohmann::json::parse(json, nullptr, false);
        std::free(json);
        std::vector<std::int32_t> ids;
        if (parsed.is_array())
            for (const auto& each : parsed) ids.push_back(each.get<std::int32_t>());
        return ids;
    }

    static std::vector<std::string> strings(const char* json) {
        const auto parsed = nlohmann::json::parse(json, nullptr, false);
        std::vector<std::string> out;
        if (parsed.is_array())
            for (const auto& item : parsed)
                out.push_back(item.is_string() ? item.get<std::string>() : std::string());
        return out;
    }
};

struct Program {
    ShellPage page;
    app::Visit visit{page};
    std::string last_paste;
};

// The fonts must outlive everything, because ImGui rasterises glyphs from them as needed.
std::vector<std::vector<std::byte>>& fonts() {
    static std::vector<std::vector<std::byte>> kept;
    return kept;
}

Program& running() {
    static Program it;
    return it;
}

struct Look {
    bool dark = false, contrast = false;
};
Look& look() {
    static Look now;
    return now;
}
void use_look(Look next) {
    look() = next;
    ui::use_theme(next.dark, next.contrast);
}

void ensure_imgui() {
    if (ImGui::GetCurrentContext()) return;
    ImGui::CreateContext();
    ImGuiIO& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.ConfigInputTextCursorBlink = false;
    io.MouseDoubleClickTime = 0.5f;  // the usual time on desktops
    io.KeyRepeatDelay = 0.5f;        // a slow frame must not look like a key held down
    io.ConfigFlags |= ImGuiConfigFlags_NavEnableKeyboard;
    ImGuiPlatformIO& platform = ImGui::GetPlatformIO();
    platform.Platform_SetClipboardTextFn = [](ImGuiContext*, const char* text) { js_copy(text); };
    platform.Platform_GetClipboardTextFn = [](ImGuiContext*) { return running().last_paste.c_str(); };
}

}  // namespace

app::Visit& visit() { return running().visit; }

const char* returned(std::string text) {
    static std::string kept;
    kept = std::move(text);
    return kept.c_str();
}

void show_fields() {
    static std::vector<ui::PageField> shown;
    const std::vector<ui::PageField>& fields = ui::page_fields();
    if (fields == shown) return;
    for (const ui::PageField& before : shown)
        if (std::ranges::find(fields, before.key, &ui::PageField::key) == fields.end())
            js_hide_field(before.key.c_str());
    for (const ui::PageField& field : fields) {
        if (std::ranges::find(shown, field) != shown.end()) continue;
        const auto& [key, name, text, number, lines, select, min, max] = field;
        js_set_field(key.c_str(), name.c_str(), text.c_str(), number, lines,
                     select ? static_cast<int>(select->begin) : -1,
                     select ? static_cast<int>(select->end) : -1, static_cast<int>(min.x),
                     static_cast<int>(min.y), static_cast<int>(max.x - min.x),
                     static_cast<int>(max.y - min.y));
    }
    shown = fields;
}

void tell_semantics() {
    if (ui::semantics_changed()) js_semantics_changed();
}

std::size_t heap_in_use() {
    constexpr double often = 250;  // ms; it walks over all that is allocated, up to half a millisecond
    static double measured = -often;
    static std::size_t bytes = 0;
    if (const double now = app::now_ms(); now - measured >= often) {
        measured = now;
        bytes = mallinfo().uordblks;
    }
    return bytes;
}

}  // namespace attn::platform

using namespace attn;
using namespace attn::platform;

extern "C" {

// `kind` is 0 for regular, 1 for semibold, 2 for mono, and 3 for a fallback with glyphs that the others lack,
// where the browser's own cannot be read.
EMSCRIPTEN_KEEPALIVE void explorer_font(int kind, const std::byte* bytes, int size) {
    ensure_imgui();
    const auto& kept = fonts().emplace_back(bytes, bytes + size);
    if (kind == 3) {
        ui::add_fallback_font(kept.data(), size);
        ui::add_fallback_glyphs(browser_glyphs());
    } else {
        ui::add_font(static_cast<ui::Face>(kind), kept.data(), size);
    }
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_home(const char* model, int layer, int head) {
    visit().set_home({model, layer, head});
}

// The whole program is here, in each of the threads too (platform/parts.js).
EMSCRIPTEN_KEEPALIVE void explorer_use_threads() { use_threads(); }

EMSCRIPTEN_KEEPALIVE void explorer_meanwhile() { visit().show_meanwhile(); }

EMSCRIPTEN_KEEPALIVE void explorer_greet() {
    frame().greet();
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_kept_lessons(const char* text, const char* draft) {
    frame().lessons().run().recall(text);
    frame().lessons().writer().recall(draft);
}

EMSCRIPTEN_KEEPALIVE void explorer_lessons(const char* list) {
    if (const Status read = frame().lessons().library().arrived(list); !read)
        visit().report_error(read.error());
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_lesson(const char* name, const char* text) {
    frame().lessons().run().arrived(visit(), name, text);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_lesson_failed(const char* name, const char* why) {
    frame().lessons().run().failed(name, why);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_lesson_file(const char* text) {
    frame().lessons().open_text(text);
    wake();
}

// Groups of lenses are bits; a negative number leaves them unchanged.
EMSCRIPTEN_KEEPALIVE void explorer_fold(int lenses, int explanations, int groups) {
    app::Frame::Folded folded = frame().folded();
    folded.lenses = lenses != 0;
    folded.explanations = explanations != 0;
    if (groups >= 0) folded.groups = static_cast<unsigned>(groups);
    frame().fold(folded);
}

// The page is a frame in another page. `names`, separated by commas, are what can be changed if the rest is
// `locked`.
EMSCRIPTEN_KEEPALIVE void explorer_embed(const char* names, int locked) {
    frame().show_lens_alone();
    share_fingers();
    if (!locked) return;
    std::vector<std::string> changeable;
    for (const std::string_view name : app::split(names, ',')) {
        if (name.empty()) continue;
        if (app::is_link_key(name))
            changeable.emplace_back(name);
        else
            visit().report_error({"The frame's address names " + quote(name) +
                                  " as what can be changed, but links have no such name."});
    }
    // What can be changed is in view.
    ui::folded().open = !changeable.empty();
    visit().lock_all_but(std::move(changeable));
}

// Returns what can be changed in the open lens, an array of [name, what it is], as JSON.
EMSCRIPTEN_KEEPALIVE const char* explorer_changeable() {
    nlohmann::json names = nlohmann::json::array();
    for (const auto& [name, what] : frame().changeable()) names.push_back({name, what});
    return returned(names.dump());
}

EMSCRIPTEN_KEEPALIVE const char* explorer_chosen() {
    const app::Frame::Chosen chosen = frame().chosen();
    const auto text = [](const std::string& given) {
        return given.empty() ? nlohmann::json() : nlohmann::json(given);
    };
    const auto number = [](const auto& given) { return given ? nlohmann::json(*given) : nlohmann::json(); };
    return returned(nlohmann::json{{"subject", chosen.subject},
                                   {"lens", chosen.lens},
                                   {"layer", chosen.selection.layer},
                                   {"head", chosen.selection.head},
                                   {"query", number(chosen.selection.query)},
                                   {"key", number(chosen.selection.key)},
                                   {"query_token", text(chosen.query_token)},
                                   {"key_token", text(chosen.key_token)},
                                   {"cell", text(chosen.cell)},
                                   {"value", number(chosen.value)}}
                        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

// Draws the picture on screen once more, at once.
EMSCRIPTEN_KEEPALIVE void explorer_picture() { picture_now(); }

// Draws what the user wants as a figure, in light colours, and saves it.
EMSCRIPTEN_KEEPALIVE void explorer_figure(double width_mm, const char* caption, const char* link) {
    visit().choose_figure(width_mm, caption, link);
    const Look before = look();
    use_look({});
    draw_unseen();
    use_look(before);
    visit().end_figure();
    wake();
}

// Returns 0 if there is no WebGL2 context.
EMSCRIPTEN_KEEPALIVE int explorer_start(const char* fragment, int dark, int contrast, int reduced_motion,
                                        int touch) {
    ensure_imgui();
    ui::join_letters(js_canvas_reads() != 0);
    if (js_canvas_reads() != 0) ui::add_fallback_glyphs(browser_glyphs());
    if (touch) ui::use_touch();
    visit().keep_still(reduced_motion != 0);
    use_look({dark != 0, contrast != 0});
    // Before the first picture, there is no need to keep the page responsive.
    const bool open = open_window({.draw = draw_page,
                                   .work = [] { return visit().work(frames_drawn() == 0 ? 100 : 4); },
                                   .due = [] { return visit().frame_is_due_later(); }});
    if (!open) return 0;
    visit().start(fragment);
    return 1;
}

EMSCRIPTEN_KEEPALIVE void explorer_draw() { start_drawing(); }

EMSCRIPTEN_KEEPALIVE void explorer_fragment(const char* fragment) {
    visit().open_fragment(fragment);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_theme(int dark, int contrast) {
    use_look({dark != 0, contrast != 0});
    theme_changed();
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_scale(double scale) { set_scale(static_cast<float>(scale)); }

EMSCRIPTEN_KEEPALIVE void explorer_wake() { wake(); }

// A press outside all windows closes pop-ups.
EMSCRIPTEN_KEEPALIVE void explorer_pressed_elsewhere() {
    ImGuiIO& io = ImGui::GetIO();
    io.AddMousePosEvent(-FLT_MAX, -FLT_MAX);
    io.AddMouseButtonEvent(ImGuiMouseButton_Left, true);
    io.AddMouseButtonEvent(ImGuiMouseButton_Left, false);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_sentence(int box, const char* text) {
    visit().text_typed(static_cast<app::Box>(box), text);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_tokens(int box, const char* text, const std::int32_t* ids, int count,
                                          int total, const char* pieces) {
    visit().tokens({static_cast<app::Box>(box), text, {ids, ids + count}, ShellPage::strings(pieces), total});
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_paste(const char* text) {
    running().last_paste = text;
    if (ImGui::GetIO().WantTextInput)
        ImGui::GetIO().AddInputCharactersUTF8(text);
    else
        frame().pasted(text);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_field(const char* key, const char* text, int entered, int caret) {
    ui::page_typed(key, text, entered != 0, static_cast<std::size_t>(caret));
    wake();
}

EMSCRIPTEN_KEEPALIVE const char* explorer_semantics() { return returned(ui::take_semantics()); }

EMSCRIPTEN_KEEPALIVE void explorer_focus_node(const char* key, int row, int col) {
    ui::focus_node(key, row, col);
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_press_node(const char* key, int row, int col) {
    ui::ask({.kind = ui::Ask::Kind::press, .key = key, .row = row, .col = col});
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_step_node(const char* key, double steps) {
    ui::ask({.kind = ui::Ask::Kind::step, .key = key, .steps = steps});
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_palette() {
    frame().open_palette();
    wake();
}

// Says whether something is too long for the address.
EMSCRIPTEN_KEEPALIVE int explorer_link_leaves_out() { return app::leaves_out(visit().state()) ? 1 : 0; }

EMSCRIPTEN_KEEPALIVE void explorer_undo() {
    visit().undo();
    wake();
}

EMSCRIPTEN_KEEPALIVE void explorer_redo() {
    visit().redo();
    wake();
}

EMSCRIPTEN_KEEPALIVE const char* explorer_tables() { return returned(app::tables_json(frame().tables())); }
EMSCRIPTEN_KEEPALIVE const char* explorer_table_text(int which, const char* form) {
    const auto tables = frame().tables();
    const auto place = static_cast<std::size_t>(which);
    return returned(place < tables.size() ? app::written_table(tables[place], form) : "");
}
EMSCRIPTEN_KEEPALIVE const char* explorer_copy_text() {
    // A text field handles copying itself.
    const auto tables = ImGui::GetIO().WantTextInput ? std::vector<app::Table>{} : frame().tables();
    return returned(tables.empty() ? std::string() : app::table_text(tables.front()));
}

EMSCRIPTEN_KEEPALIVE void explorer_context_lost() { context_lost(); }
EMSCRIPTEN_KEEPALIVE void explorer_context_restored() { context_restored(); }

}  // extern "C"
