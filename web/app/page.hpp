// Declares what the program asks of the page around it; web/platform implements it with the shell's
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

// Ids of a model's tokens that do not stand for text.
struct SpecialTokens {
    std::optional<std::int32_t> mask, separator;
    std::vector<std::int32_t> all;
};

class Page {
  public:
    virtual ~Page() = default;
    // Draws at once, because the user is waiting; pictures that only show a job's progress may come later.
    virtual void draw_now() = 0;
    virtual void notice(const std::string& sentence, bool error) = 0;
    virtual void announce(const std::string& sentence) = 0;  // for screen readers
    virtual void set_url(const std::string& fragment, bool push) = 0;
    // `enabled`: the user can type into the box; `tokenized`: the program wants the open model's tokens of
    // the text.
    virtual void set_sentence(const std::string& text, bool enabled, bool tokenized,
                              const std::string& placeholder) = 0;
    virtual void hide_sentence() = 0;  // nobody uses the box
    virtual void set_lower_box(Box which, const LowerBox& box) = 0;
    virtual void hide_lower_box(Box which) = 0;  // the box is not in use
    virtual void set_title(const std::string& title) = 0;
    virtual void set_history(bool can_undo, bool can_redo) = 0;
    // Opens the model with that name after this call: a model that comes with the page or, as hub:org/name,
    // one on the hub. The user is asked before a download, unless the model is kept here. False: no model has
    // that name.
    virtual bool open_named(const std::string& name) = 0;
    // Opens files, by their paths, as if they had been dropped in a folder of that name, after this call.
    // `awaited`: the address asks for them, not the user, so they belong to a model.
    virtual void open_files(const std::string& folder,
                            const std::map<std::string, std::vector<std::byte>>& files, bool awaited) = 0;
    // Requests a lesson of the site, which arrives after this call, or the site's answer that it has none.
    virtual void fetch_lesson(const std::string& name) = 0;
    virtual void copy_link(const std::string& fragment) = 0;  // the page's address with this fragment
    // Opens the dialog that asks for the width and the caption of a figure with this title, after this call.
    virtual void ask_figure(const std::string& title) = 0;
    virtual void show_embed() = 0;  // opens the dialog that writes a frame for another page
    virtual void open_whole() = 0;  // a frame in another page opens what it shows as a page of its own
    virtual void save_page() = 0;   // downloads the page with what is on screen as one file
    virtual void download(const std::string& name, std::span<const std::byte> bytes) = 0;
    virtual void choose_tensors() = 0;  // opens the file dialog for tensors
    // Opens the dialog of tables at the table with this title, after this call.
    virtual void show_table(const std::string& title) = 0;
    // Downloads the part that has this landmark as a PNG, `scale` pixels per point, some frames after this
    // call.
    virtual void download_picture(const std::string& name, const std::string& landmark, int scale) = 0;
    // Stores for later visits that this was done, or how it was set.
    virtual void remember(const std::string& what, const std::string& value) = 0;
    virtual void set_text_size(int percent) = 0;  // scales the whole page, as far as the window has room
    // Appends a token to those in a box.
    virtual void append_token(Box box, std::int32_t id) = 0;
    // Replaces some tokens of the text in the sentence box.
    virtual void write_tokens(Range tokens, std::span<const std::int32_t> ids) = 0;
    virtual std::vector<std::string> ids_to_text(std::span<const std::int32_t> ids) = 0;
    // Returns the open model's tokens of a short text at once, including those that the model adds at its
    // ends.
    virtual std::vector<std::int32_t> text_to_ids(const std::string& text) = 0;
    virtual SpecialTokens special_tokens() = 0;  // special tokens of the open model
};

}  // namespace attn::app
