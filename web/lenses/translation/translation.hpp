// Lens Translation shows how an encoder–decoder writes one text while it attends to another: two lines of
// words with the cross-attention between them, and the three kinds of attention side by side (Vaswani et al.
// 2017, arXiv 1706.03762, section 3.2.3).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lenses/lens.hpp"
#include "parts/part.hpp"

namespace attn::app {

// The heads of the encoder, the decoder's self-attention and its cross-attention that are shown together:
// they have the same index and, as far as both stacks have it, the same layer.
struct TranslationHeads {
    HeadIndex encoder, decoder, cross;
    bool operator==(const TranslationHeads&) const = default;
};
TranslationHeads translation_heads(const ModelConfig& config, HeadIndex chosen);

std::string bare_word(const std::string& piece);  // without the marks for spaces

// The mean over all queries of a row's largest weight: near 1 if the head attends to one token at a time.
double mean_strongest(const Record& record, Index head);

// The lens's own numbers: mean_strongest of a cross-attention head, with the decoder's layer.
namespace translation_cells {
inline constexpr CellKind confidence{"confidence", {CellAxis{"layer"}, {"head"}}};
}  // namespace translation_cells
CellKinds translation_numbers();
std::optional<CellRef> packed_translation_cell(Index row, Index col);

class TranslationLens final : public Lens {
  public:
    using Lens::Lens;

    std::optional<Missing> missing(Subject& subject) const override;
    bool suits(Subject& subject) const override { return subject.offer_translation().has_value(); }
    void draw(const Drawing& drawing, Subject& subject) override;
    std::vector<Table> tables(Subject& subject) override;
    std::string spoken(Subject& subject) override;
    std::optional<Explained> explain(Subject& subject, const CellPlace& place) override;
    bool shows(Subject& subject, const CellRef& cell) const override;
    Guide guide(Subject& subject) const override;

    // The word that each row of the decoder writes: the one after the word that it reads or, in the last row,
    // the most likely next one.
    std::vector<std::string> words_written(const TextRun& run, Subject& subject) const;
    // mean_strongest of the cross-attention heads, [layers · heads], as far as they are measured.
    const std::vector<double>& surest(const TextRun& run);

  private:
    struct Lines;
    static Table table_of_lines(const Lines& lines);
    friend CellKinds translation_numbers();
    static const std::array<LensNumber<TranslationLens>, 1> declared;
    std::optional<Explained> explain_confidence(Subject& subject, const LensCell& cell);
    static Table map_table(TextRun& run, HeadIndex head);
    void draw_controls(const Drawing& drawing, Subject& subject, const TranslationHeads& heads);
    void draw_presets(Subject& subject);
    void draw_lines(const Drawing& drawing, Subject& subject, HeadIndex head, float width);
    void draw_word(const Drawing& drawing, const Lines& lines, bool written, Index at);
    void draw_map(const Drawing& drawing, Subject& subject, int which, HeadIndex head, float width);
    void draw_heads(const Drawing& drawing, Subject& subject, HeadIndex head, float width);
    // The chosen row, if the chosen head is a cross-attention head.
    std::optional<Index> asked_row(Subject& subject, const TextRun& run) const;

    std::array<ui::MapView, 3> views_;
    std::array<parts::MapClicks, 3> clicks_;
    // Counts the rows of this head in this run that have most of their weight on one key.
    struct Counted {
        std::uint64_t version = 0;
        HeadIndex head;
        bool operator==(const Counted&) const = default;
    };
    Counted counted_;
    Index single_ = 0;
    std::uint64_t surest_of_ = 0;  // version of the run
    std::vector<double> surest_;
};

}  // namespace attn::app
