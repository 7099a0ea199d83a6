// Declares what the program asks of the page around it; web/platform implements it over the shell's
// JavaScript.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/resident.hpp"
#include "tensor/tensor.hpp"

namespace attn::app {

// Tokens of a model that stand for something else than text, by their ids.
struct SpecialTokens {
    std::optional<std::int32_t> mask, separator;
    std::vector<std::int32_t> all;
};

class Page {
  public:
    virtual ~Page() = default;
    // Draws at once, because the user is waiting for this; pictures that only show a job's progress may come
    // later.
    virtual void draw_now() = 0;
    virtual void notice(const std::string& sentence, bool error) = 0;
    virtual void announce(const std::string& sentence) = 0;  // for screen readers
    virtual void set_url(const std::string& fragment, bool push) = 0;
    // `enabled`: the box can be typed into; `tokenized`: the program wants the open model's tokens of the
    // text.
    virtual void set_sentence(const std::string& text, bool enabled, bool tokenized,
                              const std::string& placeholder) = 0;
    virtual void hide_sentence() = 0;  // nobody uses the box
    virtual void set_lower_box(Box which, const LowerBox& box) = 0;
    virtual void hide_lower_box(Box which) = 0;  // there is no such box
    virtual void set_title(const std::string& title) = 0;
    virtual void set_history(bool can_undo, bool can_redo) = 0;
    // Opens the model of that name after this call: one that comes with the page or, as hub:org/name, one of the
    // hub, for which the user is asked first unless it is kept here; false: there is none.
    virtual bool open_named(const std::string& name) = 0;
    // Opens files, by their paths, as if they had been dropped in a folder of that name, after this call.
    // `awaited` means that the address asks for them, which are a model's then, and not the user.
    virtual void open_files(const std::string& folder,
                            const std::map<std::string, std::vector<std::byte>>& files, bool awaited) = 0;
    virtual void download(const std::string& name, std::span<const std::byte> bytes) = 0;
    virtual void choose_tensors() = 0;  // opens the file dialog for tensors
    // Opens the dialog of tables with the one of this title, after this call.
    virtual void show_table(const std::string& title) = 0;
    // Downloads the part that has this landmark as a PNG, `scale` pixels per point, some frames after this
    // call.
    virtual void download_picture(const std::string& name, const std::string& landmark, int scale) = 0;
    // Keeps in mind for later visits that this has been done, or how it was set.
    virtual void remember(const std::string& what, const std::string& value) = 0;
    virtual void set_text_size(int percent) = 0;  // of the whole page, as far as the window has room for it
    // Appends a token to those in a box.
    virtual void append_token(Box box, std::int32_t id) = 0;
    // Writes tokens into the sentence box in the place of some of those that its text was split into.
    virtual void write_tokens(Range tokens, std::span<const std::int32_t> ids) = 0;
    virtual std::vector<std::string> ids_to_text(std::span<const std::int32_t> ids) = 0;
    // The open model's tokens of a text, at once; it is a short one. With those that the model has at a text's ends.
    virtual std::vector<std::int32_t> text_to_ids(const std::string& text) = 0;
    virtual SpecialTokens special_tokens() = 0;  // of the open model
};

}  // namespace attn::app
