// A resident of a visit is a subject or a lens. It owns parts of the State and keeps everything that follows
// from them up to date. This is its interface to the visit; subjects/subject.hpp and lenses/lens.hpp add what
// is shown and how.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/state.hpp"
#include "tensor/result.hpp"

namespace attn::app {

class Visit;

// Says how the State changed.
enum class Change {
    command,   // the user did something
    restored,  // undo or redo
    replaced,  // a link, or a step through the browser's history
};

// Says what a visit works on first.
enum class Urgency {
    first,  // everything else waits for it
    usual,
    last,  // nobody waits for it
};

struct Progress {
    float share = 0;  // 0 … 1
    std::string_view name;
};

// Describes the text box above the page.
struct TextBox {
    std::string text;
    bool enabled = false;    // the user can type into it
    bool tokenized = false;  // the program wants the open model's tokens of the text
    std::string placeholder;
    bool operator==(const TextBox&) const = default;
};
enum class Box { first, second, third, fourth };
inline constexpr std::array lower_boxes{Box::second, Box::third, Box::fourth};

// Describes a box below it.
struct LowerBox {
    std::string text, placeholder;
    bool continued = false;  // the model continues this text, so no end-of-sequence token is added
    bool operator==(const LowerBox&) const = default;
};

// Holds a text as the page's tokenizer split it. `total` counts the tokens of the whole text; ids and pieces
// may be fewer.
struct TokenizedText {
    Box box = Box::first;
    std::string text;
    std::vector<std::int32_t> ids;
    std::vector<std::string> pieces;  // the text of each token
    Index total = 0;
};

enum class FileKind { model, tensors, archive };

// Takes files from the page: a buffer for each, then arrived() or discard().
class FileIntake {
  public:
    virtual ~FileIntake() = default;
    // Gives the name of the folder that contains the files and, for a model, whether its tokenizer has the
    // same tokens as the open one's.
    virtual void name(const std::string&, bool /*reads_alike*/) {}
    // Returns where to write the `size` bytes of the file. The address is valid until arrived() or discard().
    virtual Result<std::byte*> buffer(const std::string& file, std::uint64_t size) = 0;
    // Checks the header of a file whose first `written` bytes are there. Returns how many bytes it needs to
    // go on, or 0 once the header has been checked.
    virtual Result<std::uint64_t> check_header(const std::string&, std::uint64_t /*written*/) {
        return std::uint64_t{0};
    }
    // Takes the next bytes of a file of `size` bytes that is rounded as it arrives, in place of buffer().
    virtual Status add_rounded(const std::string& file, std::uint64_t /*size*/, std::span<const std::byte>) {
        return Error{file + " cannot be rounded."};
    }
    // Describes the tokenizer that the files carry, as JSON; empty: they carry none.
    virtual std::string tokenizer() const { return ""; }
    // Encodes a text by the tokenizer in the open model's files, with or without the tokens at a text's ends.
    virtual Result<std::vector<std::int32_t>> encode(std::string_view, bool /*ends*/) const {
        return Error{"The open model's files carry no tokenizer"};
    }
    virtual bool arrived() = 0;  // false if the files are refused; a notice has said why
    virtual void discard() = 0;
    virtual Index context() const { return 0; }  // the open model's limit in tokens; 0: none is open
    virtual void failed() {}                     // the files that the program asked for are not coming
};

// Says what the bare address shows on a site that comes with a model.
struct Opening {
    std::string model;
    Index layer = 0, head = 0;
};

class Resident {
  public:
    virtual ~Resident() = default;
    Resident() = default;
    Resident(const Resident&) = delete;
    Resident& operator=(const Resident&) = delete;

    // ---- The State ----------------------------------------------------------------------------------------
    // Called before a State from a link or from undo is shown. Asks for whatever the State names but is not
    // here, or replaces it by what is open. `here` is the State shown now.
    virtual void receive(State&, const State& /*here*/, Change) {}
    // Called after the State has changed from `before`.
    virtual void follow(const State& /*before*/, Change) {}
    // Limits the selection to the existing layers, heads and tokens, as far as they are known. Called while
    // this is the open subject.
    virtual void fit_selection() {}
    virtual std::optional<State> home(const Opening&) const { return std::nullopt; }

    // ---- Work ---------------------------------------------------------------------------------------------
    // Works until `until_ms` of now_ms(); true while there is more to do.
    virtual bool work(Urgency, double /*until_ms*/) { return false; }
    virtual bool busy() const { return false; }
    virtual std::optional<Progress> progress() const { return std::nullopt; }
    // Changes whenever there is something new for the user to see.
    virtual std::uint64_t milestones() const { return 0; }
    // Counts the bytes of results kept in memory while another subject is shown.
    virtual std::int64_t memory_kept() const { return 0; }

    // ---- The page around it -------------------------------------------------------------------------------
    // Return the sentence box, while this subject uses it, and the boxes of other texts.
    virtual std::optional<TextBox> text_box() const { return std::nullopt; }
    virtual std::optional<LowerBox> lower_box(Box) const { return std::nullopt; }
    virtual void text_typed(Box, const std::string&) {}
    virtual void tokens(TokenizedText) {}
    virtual FileIntake* intake(FileKind) { return nullptr; }
    // Answers browser tests, as JSON.
    virtual std::string probe() const { return "null"; }
    // The same for the logits of the next token, which are too many to report every time.
    virtual std::string probe_logits() const { return "null"; }
};

}  // namespace attn::app
