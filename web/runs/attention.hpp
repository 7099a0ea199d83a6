// Provides the attention of all heads that a subject shows, whatever their source: layers × heads over
// queries × keys, with names that all heads share.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/heads/head_maps.hpp"
#include "analysis/heads/head_overview.hpp"
#include "app/derived.hpp"
#include "app/format.hpp"
#include "app/looks.hpp"
#include "attention/record.hpp"
#include "model/trace.hpp"
#include "text/units.hpp"

namespace attn::app {

class MergedHeads;

class Attention {
  public:
    virtual ~Attention();

    virtual std::uint64_t version() const = 0;          // changes with the numbers or the names
    virtual std::uint64_t origin() const { return 0; }  // if it changes, no position means the same as before
    // Counts the queries, or larger units, from the first on that are the same as in the attention with this
    // version; each of them sees only earlier ones.
    virtual Index kept_since(std::uint64_t /*version*/, Unit) const { return 0; }
    virtual Index layers() const = 0;
    virtual Layers numbering() const { return layers(); }
    // Layers that the queries and keys below belong to. If there are several texts, other layers have other
    // queries and keys.
    virtual Range alike() const { return {0, layers()}; }
    virtual Index heads() const = 0;  // heads per layer
    virtual Index queries() const = 0;
    virtual Index keys() const = 0;

    // The texts of queries and keys; their positions if they are not tokens.
    virtual const std::vector<std::string>& query_names() const = 0;
    virtual const std::vector<std::string>& key_names() const = 0;
    // The same, but empty if there are only positions.
    virtual std::span<const std::string> query_tokens() const { return query_names(); }
    virtual std::span<const std::string> key_tokens() const { return key_names(); }
    bool has_tokens() const { return !query_tokens().empty() || !key_tokens().empty(); }
    virtual bool one_line() const { return true; }  // queries and keys are the same words
    virtual const TextUnits& query_text() const = 0;
    virtual const TextUnits& key_text() const = 0;
    // Both are empty if there are only positions.
    const UnitAxis& query_words() const { return has_tokens() ? query_text().words() : no_units(); }
    const UnitAxis& key_words() const { return has_tokens() ? key_text().words() : no_units(); }
    // Says whether some units of this kind consist of several tokens. Spans are a person's own.
    bool has(Unit unit) const;
    // Token ids of the queries and of the keys, if they have any.
    virtual std::span<const std::int32_t> ids() const { return {}; }
    virtual std::span<const std::int32_t> key_ids() const { return ids(); }
    // Returns what is written below a query in a line of words: its token id or its position.
    virtual std::string small_print(Index query) const { return std::to_string(query); }

    // Returns the stages that maps can show; each adds something to the one before.
    virtual std::vector<Stage> stages() const = 0;
    // Returns the stage to show for the chosen one, which may be missing here.
    virtual Stage stage_for(Stage chosen) const = 0;
    // Returns what the rows and columns of a map are: the chosen unit if there are such units and the stage
    // can be merged, or else tokens.
    Unit unit_of(const MapChoice& choice) const;
    ShownAxis query_axis(const MapChoice& choice) const {
        return shown_axis(query_text(), query_names(), choice);
    }
    ShownAxis key_axis(const MapChoice& choice) const { return shown_axis(key_text(), key_names(), choice); }

    // The chosen mean, if the stage has one and there are several heads.
    HeadMean mean_of(const MapChoice& choice) const;
    // The heads that a mean is taken over.
    std::vector<HeadIndex> meant(HeadMean mean, HeadIndex chosen) const;

    // Makes maps of the heads in their present state; it stays valid for as long as it is kept.
    virtual HeadMaps maps(const MapChoice& choice) const = 0;
    // The same, or the means that the choice asks for; valid while the attention is.
    HeadMaps shown_maps(const MapChoice& choice) const;
    // One of the shown maps. Returns the same object for the same choice; null while its inputs are computed.
    virtual MapPointer map(Index layer, Index head, const MapChoice& choice);
    // Says whether only the sampled rows of such a map mean anything yet (maps/tiles.hpp).
    virtual bool being_measured(Stage) const { return false; }
    // Lets what measures the map asked for last make the tiles of its pyramid on the way.
    virtual void make_while_measuring(const std::shared_ptr<Pyramid>&) {}
    // Null until it is computed, and if the weights were given in finished form.
    virtual std::shared_ptr<const Record> record(Index /*layer*/) const { return nullptr; }
    // Returns small, measured maps of all heads; null for a single head, and until there are weights.
    virtual HeadOverview* overview() { return nullptr; }
    // Returns everything that the run computed; null without a model.
    virtual std::shared_ptr<const Trace> trace() const { return nullptr; }
    // Returns the token whose row of logits is shown. They predict the token that follows or, if the model is
    // bidirectional, the token itself.
    virtual Index predicted() const { return queries() - 1; }
    // The row of the run's logits; in an encoder–decoder it belongs to the decoder's text, not to the
    // encoder's queries.
    virtual Index logits_row() const { return predicted(); }

    // The part that a layer belongs to: its queries and keys. All parts have one set of merged heads.
    virtual Attention& of(Index /*layer*/) { return *this; }
    virtual MergedHeads& merged_heads();
    // The overview by the choice's units; the usual one for tokens.
    HeadOverview* overview_by(const MapChoice& choice);

    // Says whether some numbers that should be weights are negative; they are then shown as signed numbers.
    virtual bool has_negative_weights() const { return false; }
    // Says whether the weights came from a file, so that they may exceed 1.
    virtual bool finished() const { return false; }
    // Says whether the user has paused the work on it.
    virtual bool paused() const { return false; }

    // Describes the source in files, as in {"model": "gpt2"}; then what to save instead if there are too many
    // heads, as in "save one head's window".
    virtual std::map<std::string, std::string> source() const = 0;
    virtual std::string title() const = 0;  // "gpt2", "attention.npy"
    // What the scores of its heads are measured on, as the rest of a sentence.
    virtual const char* measured_on() const { return "on this text"; }
    virtual std::string instead() const { return "save one head's window"; }

  protected:
    // Returns a number that no attention of any subject had before.
    static std::uint64_t new_version();

    Attention();
    Attention(const Attention&) = delete;
    Attention& operator=(const Attention&) = delete;
    void forget_maps();  // because their numbers have changed
    // The groups of tokens that a map merges; nothing if it shows tokens.
    struct Merged {
        std::vector<Range> queries, keys;
    };
    std::optional<Merged> merged(const MapChoice& choice) const;

  private:
    static const UnitAxis& no_units();
    ShownAxis shown_axis(const TextUnits& text, const std::vector<std::string>& names,
                         const MapChoice& choice) const;

    struct Chosen {
        HeadIndex head;
        Stage stage;
        Sink sink;
        Unit unit;
        HeadMean mean;
        std::vector<TokenSpan> spans;  // where they are the unit
        bool operator==(const Chosen&) const = default;
    };
    Derived<Chosen, MapPointer> map_;
    std::unique_ptr<MergedHeads> merged_heads_;
};

// Returns "mean of the 8 heads of layer 3" or "mean of all 40 heads"; for one head, its name.
std::string mean_text(const Attention& attention, HeadMean mean, HeadIndex chosen);

// Says whether the tokens, or larger units, that a cell names exist in an attention; true for a cell that
// names none.
bool has_tokens_of(const Attention& attention, const CellRef& cell, std::span<const TokenSpan> spans);

}  // namespace attn::app
