// Lens Translation shows how an encoder–decoder writes one text while it attends to another: two lines of
// words with the cross-attention between them, and the three kinds of attention side by side (Vaswani et al.
// 2017, arXiv 1706.03762, section 3.2.3).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/heads/matching_heads.hpp"
#include "lenses/lens.hpp"

namespace attn::app::translation {

// The lens's own numbers: mean_strongest of a cross-attention head, with the decoder's layer.
namespace cells {
inline constexpr CellKind confidence{"confidence", {CellAxis{"layer"}, {"head"}}};
}  // namespace cells
CellKinds numbers();
inline std::optional<CellRef> packed_cell(Index row, Index col) { return cells::confidence(row, col); }

struct ViewMemory;

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "Here rows and columns stay tokens, one after another as they are written; Overview merges "
               "them.";
    }
    static bool suits(Subject& subject) { return subject.text_model() != nullptr; }
    static Guide guide(Subject& subject);

    struct Key {
        std::uint64_t version = 0;  // version of the run
        HeadIndex head;             // a head of the cross-attention
        std::optional<double> aligned;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return shown; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    const ModelConfig& config() const { return run->run->model()->config(); }
    Index first_cross() const { return config().attentions() - config().decoder_layers; }
    // mean_strongest of the cross-attention heads, [layers · heads], as far as they are measured.
    const std::vector<double>& surest() const { return *measured.kept(); }
    bool step();  // measures another head; true while there is more to do

    TextRun* run = nullptr;  // the decoder's view of the whole run; null until there is one
    MatchingHeads heads;     // the ones on screen
    Key shown;
    Derived<std::uint64_t, std::vector<double>> measured;
    Derived<Key, Index> single;  // rows of the head that have most of their weight on one key
    std::shared_ptr<ViewMemory> seen;
};

// Keeps how its maps are zoomed while another lens is open.
class TranslationLens final : public ModelLens<Model> {
  public:
    using ModelLens::ModelLens;

    void follow(const State&, Change) override {}
    std::optional<Missing> missing(Subject& subject) const override;
    bool shows(Subject&, const CellRef& cell) const override {
        return cell.own() || (cell.is(Stage::weight) && cell.run()->is_plain());
    }
};

// The word that each row of the decoder writes: the one after the word that it reads or, in the last row,
// the most likely next one.
std::vector<std::string> words_written(const TextRun& run, Subject& subject);

Table map_table(TextRun& run, HeadIndex head);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::translation
