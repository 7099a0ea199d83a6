// The page without a browser: it opens the models that come with the page, and gives a visit the tokens of
// its texts, in the order in which the shell's JavaScript does (web/shell/host.js, models.js, tokens.js).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/page.hpp"
#include "app/visit.hpp"
#include "headless/page_tokenizer.hpp"
#include "learn/replay.hpp"

namespace attn::headless {

// The model that the page opens with.
inline constexpr const char* first_model = "storyteller";

class HeadlessPage final : public app::Page, public app::learn::Surroundings {
  public:
    using Files = std::map<std::string, std::vector<std::byte>>;
    // Returns the bytes of a file of a bundled model, such as "storyteller/config.json".
    using ReadFile = std::function<Result<std::vector<std::byte>>(const std::string& path)>;

    explicit HeadlessPage(ReadFile read) : read_(std::move(read)) {}

    // Lets links open this model; an error if its files are not there.
    Status bring(const std::string& model);
    // Returns what the bare address shows; nothing if the first model's files are not there.
    std::optional<app::Opening> opening() const;

    bool deliver(app::Visit& visit) override;
    std::vector<std::string> take_errors() override { return std::exchange(errors_, {}); }
    const std::vector<std::string>& notices() const { return notices_; }
    const std::optional<PageTokenizer>& tokenizer() const { return tokenizer_; }

    void draw_now() override {}
    void notice(const std::string& sentence, bool error) override;
    void announce(const std::string&) override {}
    void set_url(const std::string&, bool) override {}
    void set_sentence(const std::string& text, bool enabled, bool tokenized,
                      const std::string& placeholder) override;
    void hide_sentence() override;
    void set_lower_box(app::Box which, const app::LowerBox& box) override;
    void hide_lower_box(app::Box which) override;
    void set_title(const std::string&) override {}
    void set_history(bool, bool) override {}
    bool open_named(const std::string& name) override;
    void fetch_lesson(const std::string&) override {}
    void copy_link(const std::string&) override {}
    void ask_figure(const std::string&) override {}
    void show_embed() override {}
    void open_whole() override {}
    void save_page() override {}
    void open_files(const std::string& folder, const Files& files, bool awaited) override;
    void download(const std::string&, std::span<const std::byte>) override {}
    void choose_tensors() override {}
    void show_table(const std::string&) override {}
    void download_picture(const std::string&, const std::string&, int) override {}
    void remember(const std::string&, const std::string&) override {}
    void set_text_size(int) override {}
    void append_token(app::Box box, std::int32_t id) override;
    void write_tokens(Range tokens, std::span<const std::int32_t> ids) override;
    std::vector<std::string> ids_to_text(std::span<const std::int32_t> ids) override;
    std::vector<std::int32_t> text_to_ids(const std::string& text) override;
    app::SpecialTokens special_tokens() override;

  private:
    // A text that the visit has as tokens. One that was generated has the text before that.
    struct Given {
        std::string text;
        std::vector<std::int32_t> ids;
        std::string base_text;
        std::vector<std::int32_t> base_ids;
        bool generated = false;
    };
    struct BoxState {
        std::string text;
        bool wanted = false;     // the visit wants its tokens
        bool continued = false;  // a model goes on with the text, so nothing stands at its ends
        bool changed = false;    // was set since the last delivery
        std::optional<Given> given;
        std::map<std::string, Given> generated;  // undo must not split such a text again
    };
    struct Appended {
        app::Box box;
        std::int32_t id;
    };
    struct Written {
        Range tokens;
        std::vector<std::int32_t> ids;
    };
    struct Arriving {
        std::string name;
        Files files;
    };

    BoxState& at(app::Box box) { return boxes_[static_cast<std::size_t>(box)]; }
    Result<Files> files_of(const std::string& model) const;
    void open(app::Visit& visit, const std::string& name, const Files& files);
    Status load(app::Visit& visit, const std::string& name, const Files& files);
    void hand(app::Visit& visit, app::Box which);
    void give(app::Visit& visit, app::Box which, Given given);
    void append(app::Visit& visit, const Appended& appended);
    void write(app::Visit& visit, const Written& written);

    ReadFile read_;
    std::vector<std::string> brought_;
    std::optional<std::string> wanted_;  // the model to open
    std::optional<Arriving> arriving_;
    std::vector<Appended> appended_;
    std::vector<Written> written_;
    std::array<BoxState, 4> boxes_;
    std::optional<PageTokenizer> tokenizer_;  // the open model's
    Index context_ = 0;
    std::vector<std::string> errors_, notices_;
};

}  // namespace attn::headless
