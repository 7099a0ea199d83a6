// Lens Yours: what a person's own code returned, beside the right result. It names the mistake that explains
// the difference, or the precision in which there is none, and the line to change. Until files are dropped it
// shows an example of its own with a mistake planted in it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/check/verdict.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"

namespace attn::app::yours {

struct State {
    std::size_t example = 1;      // what is planted in the example: an index of example_keys()
    std::string file = {};        // the name of the case that was dropped; empty: the example
    Index batch = -1, head = -1;  // −1: those of the first wrong cell
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();
// "right", and the keys of the mistakes that can be planted.
std::span<const std::string_view> example_keys();
const char* example_name(std::size_t example);

enum class Matrix { returned, right, difference, explained };

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 4> matrix_words{"returned", "right", "difference", "explained"};
inline constexpr std::array<std::string_view, 2> measure_words{"mean", "worst"};

inline constexpr CellKind output{"output", {CellAxis{"matrix", matrix_words}, {"query"}, {"column"}}};
inline constexpr CellKind near{"near", {CellAxis{"mistake"}}};
inline constexpr CellKind precision{"precision", {CellAxis{"precision"}, {"measure", measure_words}}};
}  // namespace cells
CellKinds numbers();

// The readings of a dropped case, or why it cannot be read.
struct Source {
    std::string name;
    std::vector<AttentionCase> readings = {};
};

// A case with a mistake planted in it, generated from a seed.
inline constexpr std::uint32_t example_seed = 7;
AttentionCase example_case(std::size_t example);

// The shown part of a diagnosed case: one head of one batch entry, or all columns where W_O mixes the heads.
class Shown {
  public:
    Shown(std::shared_ptr<const AttentionCase> given, const Implementation& explained, Index batch,
          Index head);

    bool of_weights() const { return given_->output.empty(); }
    Index queries() const { return given_->queries(); }
    Index columns() const;
    Index first_column() const;  // in the merged output
    double value(Matrix which, Index query, Index column);
    const std::vector<Index>& by_difference();  // the queries, those furthest off first
    ImplementationRun& right() { return right_; }
    ImplementationRun& explained() { return explained_; }
    const AttentionCase& given() const { return *given_; }
    Index batch() const { return batch_; }
    Index head() const { return head_; }

  private:
    const std::vector<double>& row(Matrix which, Index query);

    std::shared_ptr<const AttentionCase> given_;
    Index batch_, head_;
    ImplementationRun right_, explained_;
    std::array<std::vector<std::optional<std::vector<double>>>, 2> rows_;  // right, explained
    std::vector<Index> by_difference_;
};

class Model {
  public:
    static std::optional<Missing> missing(Subject&) { return std::nullopt; }
    static bool suits(Subject&) { return true; }
    static const char* tokens_alone() { return "Rows and columns are those of the arrays that you drop."; }
    static Guide guide(Subject& subject);

    struct Key {
        State state;
        const Source* source = nullptr;
        bool done = false;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {state, shown_source().get(), result.has_value()}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    bool step();  // true while there is more to do
    float progress() const;
    bool is_example() const { return state.file.empty(); }
    // The case of the State, if it was dropped during this visit.
    std::shared_ptr<const Source> shown_source() const;

    State state;
    std::vector<std::shared_ptr<const Source>> sources;  // dropped during this visit, the newest first
    struct Result {
        std::shared_ptr<const AttentionCase> given;
        Verdict verdict;
        std::vector<NearMiss> nearest;
        std::vector<LevelFit> levels;
    };
    std::optional<Result> result;
    std::unique_ptr<Shown> shown;

  private:
    struct Of {
        std::size_t example = 0;
        std::shared_ptr<const Source> source;
        bool operator==(const Of&) const = default;
    };
    std::optional<Of> of_;
    std::vector<AttentionCase> waiting_;  // readings, the last one first
    std::size_t readings_ = 0;
    std::optional<Diagnosis> running_;
    std::optional<Result> best_;
};

class Lens final : public ModelLens<Model> {
  public:
    explicit Lens(Visit& visit) : ModelLens(visit), files_(*this) {}
    void follow(const app::State& before, Change how) override;
    FileIntake* intake(FileKind kind) override {
        return kind == FileKind::tensors && &visit().lens() == this ? &files_ : nullptr;
    }

  private:
    struct Files final : FileIntake {
        Lens& lens;
        struct File {
            std::string name;
            std::vector<std::byte> bytes;  // stay where they are if the list grows
        };
        std::vector<File> waiting = {};
        explicit Files(Lens& of) : lens(of) {}
        Result<std::byte*> buffer(const std::string& file, std::uint64_t size) override;
        bool arrived() override;
        void discard() override { waiting.clear(); }
    };
    Files files_;
    std::vector<std::shared_ptr<const Source>> sources_;
};

Sheet output_sheet(const Model& model, Matrix which);
Sheet near_sheet(const Model& model);
Sheet precision_sheet(const Model& model);
std::string fix_text(const Model& model);  // lines of three libraries
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::yours
