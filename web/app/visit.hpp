// A visit to the page: the State and its history, the subjects and lenses that live in it, and their work in
// slices.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/download.hpp"
#include "app/figure.hpp"
#include "app/history.hpp"
#include "app/page.hpp"
#include "app/resident.hpp"
#include "app/table.hpp"

namespace attn::app {

class Visit {
  public:
    explicit Visit(Page& page);
    ~Visit();

    const State& state() const { return history_.present(); }
    const State& state_before() const { return history_.before_last_step(); }
    const std::string& last_edit() const { return last_edit_; }  // "x 1 → 2", "undone: x 1 → 2"
    Page& page() { return page_; }

    // ---- Residents ----------------------------------------------------------------------------------------
    Resident& subject() const { return subject(state().subject); }
    Resident& subject(std::string_view key) const;
    Resident& lens() const { return lens(state().lens); }
    Resident& lens(std::string_view key) const;
    // Returns an object shared by all callers that ask for this type, made on first use.
    template <class T>
    T& shared() {
        std::shared_ptr<void>& kept = shared_place(&id_of<T>);
        if (!kept) kept = std::make_shared<T>();
        return *static_cast<T*>(kept.get());
    }

    // The same, made from these arguments; its constructor may ask for other shared objects.
    template <class T, class... Arguments>
    T& shared_with(Arguments&&... arguments) {
        if (!shared_place(&id_of<T>)) {
            auto made = std::make_shared<T>(std::forward<Arguments>(arguments)...);
            shared_place(&id_of<T>) = std::move(made);
        }
        return *static_cast<T*>(shared_place(&id_of<T>).get());
    }

    // ---- The State ----------------------------------------------------------------------------------------
    // A refused command becomes a notice and changes nothing. Commands of one gesture are one undo step. Each
    // step is a place that the browser's Back returns to; so is a gesture as a whole, and a series of
    // movements about the picture less than a second apart, such as turns of a wheel.
    void perform(const Command& command, std::uint64_t gesture = 0);
    // Returns the gesture of the current typing; a pause of a second begins a new one.
    std::uint64_t typing();
    // Names, as in links, what may not change: a command that changes one of them is refused, and `why` says
    // after its name why.
    void lock(std::vector<std::string> names, std::string why) {
        locks_ = {std::move(names), std::move(why)};
    }
    bool locks(std::string_view name) const;
    // Locks everything but these names: a command may then select, move about, or change one of them.
    void lock_all_but(std::vector<std::string> names) { changeable_ = std::move(names); }
    // Performs a command that follows from what is shown, not from the user: it adds no undo step and no
    // place for Back.
    void settle(const Command& command);
    void undo();
    void redo();
    // Called by residents: replace() adds an undo step, correct() changes the present State without one.
    void replace(State state, const std::string& edit);
    void correct(State state);
    // Sets what the bare address shows; call before start().
    void set_home(const Opening& opening);
    bool at_home() const { return home_ && is_but_for_lessons(*home_); }
    // Says whether nothing has been changed in the home, or in what is shown in its place.
    bool is_untouched() const { return at_home() || (meanwhile_ && is_but_for_lessons(*meanwhile_)); }
    const State* home() const { return home_ ? &*home_ : nullptr; }
    void correct_home(const Selection& selection) { home_->selection = selection; }
    void forget_home();
    // The home's model is long in coming: the worked example is shown in its place.
    void show_meanwhile();
    // The home's model is open. If the example is shown in its place and nothing has been changed, shows the
    // home and returns true.
    bool go_home();
    void start(const std::string& fragment);          // the address that the page was opened with
    void open_fragment(const std::string& fragment);  // back, forward, or an edited address
    // Opens a link within the page, as an undo step of this description.
    void follow_link(const std::string& fragment, const std::string& edit);

    // ---- The page around it -------------------------------------------------------------------------------
    void report_error(const Error& error);
    void notice(const std::string& message);
    void announce(const std::string& sentence) { page_.announce(sentence); }
    void text_typed(Box box, const std::string& text);
    void tokens(TokenizedText text);
    FileIntake* intake(FileKind kind) const;  // null: nobody takes such files
    // Updates the boxes; `anew` sets their texts even if they have not changed.
    void show_boxes(bool anew = false);
    // Makes the file in slices, then offers it. A newer call replaces it.
    void save(Result<std::unique_ptr<Download>> file);
    void save(const std::string& name, std::string_view text);
    // Offers the part that has this landmark as a PNG.
    void save_picture(const std::string& name, const std::string& landmark, int scale) {
        picture_saved_ = landmark;
        page_.download_picture(name, landmark, scale);
    }
    // Until the picture is taken, the part's own controls are not drawn.
    bool saves_picture_of(std::string_view landmark) const { return picture_saved_ == landmark; }
    void picture_taken() { picture_saved_.clear(); }

    // Asks how wide the figure of a part is to be and what it says. Then the part is drawn once more, light
    // and off screen, and whoever draws it saves it.
    void ask_figure(std::string landmark, std::string file, const std::string& title) {
        figure_ = Figure{.landmark = std::move(landmark), .file = std::move(file)};
        page_.ask_figure(title);
    }
    void choose_figure(double width_mm, std::string caption, std::string link);
    // Returns the figure if the part with this landmark is drawn for it, otherwise null.
    const Figure* figure_of(std::string_view landmark) const {
        return figure_ && figure_->width_mm > 0 && figure_->landmark == landmark ? &*figure_ : nullptr;
    }
    void save_figure(std::string_view svg);
    void refuse_figure(const Error& why) {
        figure_.reset();
        report_error(why);
    }
    // Call when the part has been drawn: it may be gone by now.
    void end_figure();

    // ---- Work ---------------------------------------------------------------------------------------------
    // Works for about `budget_ms`; true while there is more to do.
    bool work(double budget_ms);
    bool busy() const;
    // Count the changes of the State, and the slices of work.
    std::uint64_t changes() const { return changes_; }
    std::uint64_t slices() const { return slices_; }
    std::optional<Progress> progress() const;  // progress of the file being made, or of the subject
    // Called while a frame is drawn, if what it shows needs more computing. `step` does a slice and returns
    // true while there is more; it is called until the next frame begins.
    void continue_with(std::function<bool()> step) { frame_steps_.push_back(std::move(step)); }
    void begin_frame() {
        frame_steps_.clear();
        tables_.clear();
        ++frames_;
    }
    std::uint64_t frames() const { return frames_; }
    // Called while a picture is drawn, with a function that makes its table. These are kept until the next
    // frame begins.
    void offer_table(std::function<Table()> table) { tables_.push_back(std::move(table)); }
    std::vector<Table> tables() const {
        std::vector<Table> all;
        for (const auto& table : tables_) all.push_back(table());
        return all;
    }
    bool frame_computes() const { return !frame_steps_.empty(); }
    // Requests a frame at a later time of now_ms().
    void continue_at(double ms) { frame_due_ms_ = ms; }
    bool frame_is_due_later() const { return frame_due_ms_.has_value(); }
    // Turns off animation.
    void keep_still(bool on) { still_ = on; }
    bool still() const { return still_; }

  private:
    template <class T>
    static inline char id_of = 0;
    std::shared_ptr<void>& shared_place(const void* id);
    void for_all(const std::function<void(Resident&)>& what) const;
    State read_fragment(const std::string& fragment);
    void open_state(State next, const std::string& edit);
    std::string address() const;
    void changed(const State& before, Change how, bool new_place);
    void restore(const State& before, const char* edit);
    std::vector<std::uint64_t> milestones() const;
    bool work_until(double ms);
    bool work_on_file(double until);
    bool work_on_frame(double until);  // true if something was done

    Status may_change(const Command& command, const State& next) const;
    bool is_but_for_lessons(const State& other) const;
    State in_this_lesson(State other) const;  // the other State, with the lesson that is open

    struct Locks {
        std::vector<std::string> names;
        std::string why;
    };

    Page& page_;
    History history_;
    Locks locks_;
    std::optional<std::vector<std::string>> changeable_;  // null: everything
    std::optional<State> home_, meanwhile_;
    std::string last_edit_;
    // The last command performed: its gesture, its kind and its time in ms.
    struct Given {
        std::uint64_t gesture = 0;
        const void* kind = nullptr;
        double at = 0;
    } given_;
    std::uint64_t typing_ = std::uint64_t{1} << 62;
    double typed_at_ = 0;  // ms
    std::vector<std::pair<const void*, std::shared_ptr<void>>> shared_;
    std::vector<std::unique_ptr<Resident>> subjects_, lenses_;  // in the order of their lists
    std::optional<TextBox> box_;
    std::map<Box, std::optional<LowerBox>> lower_boxes_;
    std::unique_ptr<FileIntake> archives_;
    std::unique_ptr<Download> download_;
    std::vector<std::function<bool()>> frame_steps_;
    std::vector<std::function<Table()>> tables_;
    std::optional<Figure> figure_;
    std::string picture_saved_;  // the landmark of the part that is about to be saved
    std::uint64_t frame_steps_done_ = 0, frames_ = 0, changes_ = 0, slices_ = 0;
    std::optional<double> frame_due_ms_;
    bool still_ = false;
};

}  // namespace attn::app
