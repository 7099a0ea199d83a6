// Draws the frame around a lens: the tabs of subjects, the rail of lenses, the inspector, the lesson, the
// status line, and the palette that finds everything. It is one page, redrawn in every frame.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/hover.hpp"
#include "frame/palette.hpp"
#include "frame/sheet.hpp"
#include "frame/steady.hpp"
#include "learn/panel.hpp"
#include "lenses/lens.hpp"
#include "widgets/inspector.hpp"

namespace attn::app {

// The pin that a lesson's step has set, or that someone sets who writes a lesson. On a phone, its explanation
// does not cover the text.
class LessonPin {
  public:
    void follow(const Visit& visit, learn::LessonPanel& lessons) {
        const auto& pin = visit.state().pin;
        if (lessons.writer().is_open()) {
            if (std::exchange(seen_, pin) != pin) pin_ = pin;
            writes_ = true;
            return;
        }
        if (std::exchange(writes_, false)) *this = {};
        LessonState now = lesson_of(visit.state());
        if (lessons.run().lesson() == nullptr) now = {};
        if (step_ == now) return;
        step_ = std::move(now);
        pin_ = step_.is_open() ? pin : std::nullopt;
    }
    bool holds(const State& state) const { return pin_ && state.pin == pin_; }
    void let_go() { pin_.reset(); }

  private:
    LessonState step_;
    std::optional<CellRef> pin_, seen_;
    bool writes_ = false;
};

class Frame {
  public:
    explicit Frame(Visit& visit) : visit_(visit), lessons_(visit.shared_with<learn::LessonPanel>(visit)) {}

    // Fills the whole window. `heap_bytes` is the memory in use, for the status line.
    void draw(std::size_t heap_bytes);
    // Returns the cell that the inspector explains: the hovered one, otherwise the pinned one.
    std::optional<CellRef> explained_cell() const;
    // Returns the sentence that says what is seen; empty if there is none.
    const std::string& spoken() const { return spoken_; }
    // Serve Ctrl+V and Ctrl+C on the canvas, the Table button and Ctrl+K.
    void pasted(const std::string& text);
    std::vector<Table> tables();
    void open_palette() { palette_.open(); }
    // The page is a frame in another page: it shows the lens alone, without tabs, rail and status line.
    void show_lens_alone() { alone_ = true; }
    // What the user has chosen, for the page around this one; the value is the pinned number's.
    struct Chosen {
        std::string_view subject, lens;
        Selection selection;
        std::string query_token, key_token, cell;  // empty: none
        std::optional<double> value;
    };
    Chosen chosen() const;
    // Names what can be changed in the open lens, as links do, with what each is: "a number from 0.01 to
    // 100".
    std::vector<std::pair<std::string_view, std::string_view>> changeable() const;
    // Says of what a figure with this title is: its model, layer, head and text.
    std::string caption(const std::string& title) const;
    learn::LessonPanel& lessons() { return lessons_; }
    // Welcomes a newcomer: most groups of lenses are folded away.
    void greet() {
        lessons_.greet();
        folded_.groups = all_groups & ~(group_bit(LensGroup::see) | group_bit(LensGroup::learn));
    }
    // Tells what is folded away beside the lens: panels, and groups of lenses except the open lens's. A phone
    // has nothing beside the lens.
    static constexpr unsigned all_groups = 0b11111;
    static constexpr unsigned group_bit(LensGroup group) { return 1u << static_cast<unsigned>(group); }
    struct Folded {
        bool lenses = false, explanations = false;
        unsigned groups = 0;
        bool operator==(const Folded&) const = default;
    };
    void fold(Folded folded) { folded_ = folded; }
    Folded folded() const { return folded_; }

  private:
    struct Rect {
        ImVec2 at, size;
    };
    // A pinned number that can be changed.
    struct PinnedInput {
        const Ladder& ladder;
        const LadderEdits& edits;
        RunCell cell;
        double value;
    };
    void draw_wide(const Rect& window);
    void draw_narrow(const Rect& window);
    void draw_tabs(float width);
    void draw_tab(const SubjectEntry& subject, float width);
    bool draw_rail(int columns = 1);
    void draw_lens_menu(float width);
    void draw_lens_row(float width);
    void draw_lens_buttons();
    static void scroll_by_ctrl_wheel();
    void draw_guide_button();
    bool draw_group(LensGroup group, bool folds);
    std::string where_it_suits(const LensEntry& lens) const;
    bool draw_lens_button(const LensEntry& lens, float width, float height);
    struct RailRows {
        int lenses = 0, groups = 0;
    };
    RailRows rail_rows() const;
    float lens_height(bool in_rail) const;
    std::size_t lesson_rows() const;
    bool shows_group(LensGroup group) const;
    void draw_lens();
    void draw_sentence(Subject& subject);
    void draw_units(Subject& subject);
    float height_of_boxes() const;
    static constexpr std::size_t most_lesson_rows = 5;  // in the rail
    void draw_lesson_links(int columns);
    float width_on_the_right() const;
    void draw_right(ImVec2 at, ImVec2 size);
    void draw_lesson_sheet(const Rect& sheet);
    float lesson_sheet_height(float window) const;
    void draw_missing(const Missing& missing);
    void draw_progress();
    void draw_inspector();
    void draw_explanation();
    std::optional<Explained> explain(const CellRef& cell, const Hover& hover) const;
    const std::optional<Explained>& explanation(const CellRef& cell, const Hover& hover);
    // Pins another number and brings it into view: in the named lens, the open one or the first that shows
    // it.
    void follow(const CellRef& from, const CellPlace& place);
    void go_back();
    std::string head_told() const;  // what the chosen head is named after; empty if it has no name
    void draw_head_told();
    void draw_guide();
    void draw_sheet(const Rect& sheet);
    void draw_number(const PinnedInput& input);
    std::optional<PinnedInput> pinned_input() const;
    void draw_status(float width);
    void draw_wide_status(float width);
    bool draw_fold(const char* panel, bool folded, bool on_the_left);
    void shortcuts();
    void close_explanation();
    void announce_pin();
    bool is_brief() const;  // the open lens is not the subject's usual one
    void draw_beside_tabs(float left, float right, float middle);
    std::vector<std::string> head_names() const;
    void draw_chosen_head(float right, float room, float middle);
    void draw_head_menu(const Drawing& drawing, const std::string& name);
    void draw_head_choice(const Drawing& drawing);

    Visit& visit_;
    Hover before_, now_;  // what the cursor was over in the last frame, and is over in this one
    Palette palette_;
    learn::LessonPanel& lessons_;
    float lesson_height_ = 0, inspector_height_ = 0;  // heights of what they hold, in the last frame
    LessonPin lesson_pin_;
    BottomSheet sheet_;
    Folded folded_;
    bool alone_ = false;
    std::size_t heap_bytes_ = 0;
    std::string_view drawn_subject_, drawn_lens_;  // in the last frame
    std::string spoken_, detail_;                  // detail_: the text below the headline
    float spoken_width_ = 0,
          // Height of its lines; room once taken stays, so that the content below does not move.
        spoken_height_ = 0;
    float spoken_size_ = 0;     // size of its letters
    float beside_tabs_ = 0;     // width of the subject's controls in the row of tabs
    std::string hovered_lens_;  // for the rail's text about it
    Steady steady_;
    struct Announced {
        CellRef cell;
        std::string value;
        std::uint64_t version = 0, changes = 0;
    };
    std::optional<Announced> announced_;
    bool explains_ = false;  // the sheet of a phone is open
    // What the sheet of a phone shows while nothing is pinned: what the chosen head does, or how to use the
    // lens.
    enum class Told { nothing, head, guide } told_ = Told::nothing;
    Hover read_;  // what the explanation belongs to, if not to the pinned cell
    // The shown explanation. Computing one with thousands of operands takes some milliseconds.
    struct Shown {
        CellRef cell;
        HeadIndex head;
        std::uint64_t version = 0, changes = 0;  // versions of the attention and of the State
        bool operator==(const Shown&) const = default;
    } shown_;
    std::optional<Explained> why_;
    ui::OperandsShown operands_;
    std::uint64_t why_slices_ = 0;
    double why_made_ = 0;  // ms
    // The numbers from which operands were followed, and the pin at the trail's end; another pin ends the
    // trail.
    struct Stop {
        std::string_view lens;
        Selection selection;
        CellRef cell;
    };
    std::vector<Stop> trail_;
    std::optional<CellRef> trail_end_;
    std::optional<CellRef> drawn_pin_;    // in the last frame
    std::optional<CellRef> carried_pin_;  // pinned in the lens before this one, and not looked at since
};

}  // namespace attn::app
