// Shows a user's own tensors: finished attention weights, or Q and K and the attention computed from them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "subjects/explain_measured.hpp"
#include "subjects/explain_sums.hpp"
#include "subjects/head_ladder.hpp"
#include "subjects/subject.hpp"
#include "subjects/tensors/commands.hpp"
#include "subjects/tensors/own_tensors.hpp"

namespace attn::app {

LinkRows tensors_links();
bool tensors_may_select(const State& state, const Selection& selection);
bool tensors_may_pin(const State& state, const RunCell& cell);
// Returns nothing if the set has no such cell, or has not computed it yet.
std::optional<Explained> explain_tensor_cell(const TensorSet& set, HeadIndex at, const RunCell& cell,
                                             std::span<const TokenSpan> spans);

class TensorsSubject final : public Subject {
  public:
    explicit TensorsSubject(Visit& visit) : Subject(visit) {}

    OwnTensors& own() { return own_; }
    const TensorSet* open() const { return own_.open(); }
    // Returns the names of a link's files if they are not open; otherwise nothing.
    std::string wanted() const;
    void close();

    Attention* attention() override { return own_.open(); }
    HeadCount head_count() override {
        return open() ? HeadCount{open()->layers(), open()->heads()} : HeadCount{};
    }
    std::vector<Offer> offers() const override;
    const Ladder* ladder() override { return ladder_of(ladder_, own_.open(), chosen_head()); }
    std::optional<Explained> explain_at(const CellPlace& place) override;
    std::string status() override;
    Guide guide() const override;
    bool draw_controls(const Drawing& drawing, bool brief) override;
    bool draw_in_tabs(const Drawing& drawing, bool brief, float width) override;
    void draw_head(const Drawing& drawing) override;
    void draw_beside(const Drawing& drawing, float width) override;

    void receive(State& state, const State& here, Change how) override;
    void fit_selection() override;
    bool work(Urgency urgency, double until_ms) override;
    bool busy() const override { return own_.busy(state().of<TensorsState>().rule); }
    std::uint64_t milestones() const override;
    FileIntake* intake(FileKind kind) override { return kind == FileKind::tensors ? &files_ : nullptr; }
    std::string probe() const override;

  private:
    void show(const CellPlace& place);
    struct Files final : FileIntake {
        TensorsSubject& subject;
        explicit Files(TensorsSubject& s) : subject(s) {}
        Result<std::byte*> buffer(const std::string& file, std::uint64_t size) override {
            return subject.own_.buffer(file, size);
        }
        bool arrived() override {
            subject.own_.arrived(subject.now().files, subject.now().answers);
            return true;
        }
        void discard() override { subject.own_.discard(); }
    };

    const TensorsState& now() const { return state().of<TensorsState>(); }
    void name_open_files(State& state, bool say) const;
    // Defined in view.cpp and ask_view.cpp.
    void draw_actions(bool settings);
    void draw_work();
    void draw_rule();
    void draw_head_choice();
    void draw_invitation();
    void draw_questions();
    void draw_waiting();
    bool ask(const Question& question);
    void step_through(const Question& question);

    OwnTensors own_;
    Files files_{*this};
    std::optional<HeadLadder> ladder_;
    ScoreExplainer scores_;
    MapSumExplainer sums_;
    std::map<std::string, Index> stepped_;  // the number in each question's stepper, by the question's id
};

}  // namespace attn::app
