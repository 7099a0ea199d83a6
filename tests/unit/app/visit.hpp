// Runs a visit without a browser, with a page that records what it is told, and a small model.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/visit.hpp"
#include "lenses/lens.hpp"
#include "model/model.hpp"
#include "runs/training_files.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/tensors/tensors.hpp"
#include "subjects/training/training.hpp"
#include "subjects/worked/worked.hpp"
#include "support/files.hpp"

namespace attn::test {

struct FakePage : app::Page {
    int drawn_now = 0;
    void draw_now() override { ++drawn_now; }
    std::vector<std::string> notices, announced;
    std::vector<std::int32_t> appended;
    std::vector<std::string> bundled, opened;
    std::string url;
    int pushed = 0;
    bool can_undo = false, can_redo = false;

    void notice(const std::string& sentence, bool) override { notices.push_back(sentence); }
    void announce(const std::string& sentence) override { announced.push_back(sentence); }
    void set_url(const std::string& fragment, bool push) override {
        url = fragment;
        pushed += push;
    }
    std::optional<std::string> second;
    bool continued = false;
    std::map<app::Box, app::LowerBox> lower;  // boxes that are shown
    void set_lower_box(app::Box which, const app::LowerBox& given) override {
        lower[which] = given;
        if (which != app::Box::second) return;
        second = given.text;
        continued = given.continued;
    }
    void hide_lower_box(app::Box which) override {
        lower.erase(which);
        if (which == app::Box::second) second.reset();
    }
    std::string box;
    bool box_enabled = false, box_tokenized = false;
    std::string folder, downloaded;
    app::Files files;
    bool files_awaited = false;
    std::vector<std::byte> downloaded_bytes;
    std::string picture;
    void download_picture(const std::string& name, const std::string& landmark, int scale) override {
        picture = name + " of " + landmark + " at " + std::to_string(scale);
    }

    std::string placeholder;
    void set_sentence(const std::string& text, bool enabled, bool tokenized,
                      const std::string& said) override {
        placeholder = said;
        box = text;
        box_enabled = enabled;
        box_tokenized = tokenized;
    }
    void hide_sentence() override {
        box.clear();
        box_enabled = false;
    }
    void open_files(const std::string& name, const app::Files& given, bool awaited) override {
        folder = name;
        files = given;
        files_awaited = awaited;
    }
    void download(const std::string& name, std::span<const std::byte> bytes) override {
        downloaded = name;
        downloaded_bytes.assign(bytes.begin(), bytes.end());
    }
    std::string copied_link;
    int saved_pages = 0, embeds = 0, wholes = 0;
    std::vector<std::string> lessons_wanted;
    std::string figure_asked;
    void ask_figure(const std::string& title) override { figure_asked = title; }
    void show_embed() override { ++embeds; }
    void open_whole() override { ++wholes; }
    void save_page() override { ++saved_pages; }
    void copy_link(const std::string& fragment) override { copied_link = fragment; }
    void fetch_lesson(const std::string& name) override { lessons_wanted.push_back(name); }
    void set_title(const std::string&) override {}
    void set_history(bool undo, bool redo) override {
        can_undo = undo;
        can_redo = redo;
    }
    bool open_named(const std::string& name) override {
        if (std::ranges::find(bundled, name) == bundled.end()) return false;
        opened.push_back(name);
        return true;
    }
    std::string (*piece)(std::int32_t) = [](std::int32_t) { return std::string("token"); };
    int dialogs = 0;
    void choose_tensors() override { ++dialogs; }
    std::string table_shown;
    void show_table(const std::string& title) override { table_shown = title; }
    std::vector<std::string> remembered;
    void remember(const std::string& what, const std::string& value) override {
        remembered.push_back(what + " " + value);
    }
    int text_size = 100;
    void set_text_size(int percent) override { text_size = percent; }
    app::Box appended_to = app::Box::first;
    void append_token(app::Box to, std::int32_t id) override {
        appended.push_back(id);
        appended_to = to;
    }
    // The tokens that the program wrote last, and where.
    Range written_over;
    std::vector<std::int32_t> written;
    void write_tokens(Range tokens, std::span<const std::int32_t> ids) override {
        written_over = tokens;
        written.assign(ids.begin(), ids.end());
    }
    app::SpecialTokens special;
    app::SpecialTokens special_tokens() override { return special; }
    // Makes a token for each word, from its first letter.
    std::vector<std::int32_t> text_to_ids(const std::string& text) override {
        std::vector<std::int32_t> ids;
        bool begins = true;
        for (const char letter : text) {
            if (begins && letter != ' ') ids.push_back(letter % 5);
            begins = letter == ' ';
        }
        return ids;
    }
    std::vector<std::string> ids_to_text(std::span<const std::int32_t> ids) override {
        std::vector<std::string> pieces;
        for (const std::int32_t id : ids) pieces.push_back(piece(id));
        return pieces;
    }
};

inline app::WorkedSubject& worked_in(const app::Visit& visit) {
    return static_cast<app::WorkedSubject&>(visit.subject(app::worked_subject));
}
inline app::SentenceSubject& sentence_in(const app::Visit& visit) {
    return static_cast<app::SentenceSubject&>(visit.subject(app::sentence_subject));
}
inline app::TensorsSubject& tensors_in(const app::Visit& visit) {
    return static_cast<app::TensorsSubject&>(visit.subject(app::tensors_subject));
}
inline app::TrainingSubject& training_in(const app::Visit& visit) {
    return static_cast<app::TrainingSubject&>(visit.subject(app::training_subject));
}
inline app::TrainingRuns& runs_in(app::Visit& visit) { return visit.shared<app::TrainingRuns>(); }

// Returns what the inspector says about a cell of the open subject.
inline std::optional<app::Explained> explained(const app::Visit& visit, const app::CellRef& cell) {
    return app::subject_in(visit).explain(cell);
}

// Returns the matrix in focus.
inline app::Table table_in(const app::Visit& visit) {
    auto tables = app::lens_in(visit).tables(app::subject_in(visit));
    REQUIRE_FALSE(tables.empty());
    return std::move(tables.front());
}

// Does what the page does with a model's files.
inline void load_files(app::Visit& visit, const std::string& folder, const app::Files& files,
                       bool reads_alike = false) {
    app::FileIntake* intake = visit.intake(app::FileKind::model);
    REQUIRE(intake);
    intake->name(folder, reads_alike);
    for (const char* file : {"config.json", "model.safetensors"}) REQUIRE_FALSE(files.at(file).empty());
    for (const char* file : {"config.json", "model.safetensors", "scores.json"}) {
        if (!files.contains(file)) continue;
        const auto& bytes = files.at(file);
        auto buffer = intake->buffer(file, bytes.size());
        REQUIRE(buffer);
        std::ranges::copy(bytes, *buffer);
    }
    REQUIRE(intake->arrived());
}

inline app::Files golden_model(const std::string& model) {
    app::Files files;
    for (const char* file : {"config.json", "model.safetensors"})
        files[file] = read_file(source_dir() / "tests/golden/model" / model / file);
    return files;
}

// The files of a model with one file of weights, as a user opens them.
inline app::Files as_opened(const ModelFiles& files) {
    return {{"config.json", files.config}, {"model.safetensors", files.weights.begin()->second}};
}

inline void load_tiny_model(app::Visit& visit) { load_files(visit, "tiny", golden_model("gpt2-f32")); }

// Runs a text of five tokens through a model.
inline void open_files(app::Visit& visit, const app::Files& files) {
    load_files(visit, "tiny", files);
    visit.perform(app::SetText{"abcab"});
    visit.tokens({app::Box::first, "abcab", {1, 2, 3, 1, 2}, {"a", "b\n", "c\\", "a", "b"}, 5});
    for (int i = 0; visit.progress() && i < 100'000; ++i) visit.work(10);
    REQUIRE_FALSE(visit.progress());
}

// Runs a text through one of the golden models.
inline void open_golden(app::Visit& visit, const std::string& model) {
    open_files(visit, golden_model(model));
}

// Does what the page does with the files passed to open_files.
inline void load_given(app::Visit& visit, FakePage& page) {
    REQUIRE(page.files.contains("tokenizer.json"));
    load_files(visit, page.folder, std::exchange(page.files, {}));
}

inline void finish(app::Visit& visit) {
    for (int i = 0; visit.progress() && i < 100'000; ++i) visit.work(10);
    REQUIRE_FALSE(visit.progress());
}

}  // namespace attn::test
