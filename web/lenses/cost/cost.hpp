// Lens Cost: what attention takes, measured on this page and counted. Its time in the naive and the fused
// form over the length of the text and the width of a head, with fitted exponents; the roofline of this
// browser; and the operations, bytes and cache of models, known ones, the open one and any shape.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/cost/known_models.hpp"
#include "app/fields.hpp"
#include "app/sheet.hpp"
#include "lenses/lens.hpp"
#include "runs/cost_results.hpp"
#include "runs/model_amounts.hpp"

namespace attn::app::cost {

enum class Part : std::uint8_t { time, roofline, models };
enum class Whose : std::uint8_t { open, typed };
inline constexpr Index most_tokens = 1'000'000, most_layers = 1000, most_width = 1 << 20;

struct TypedShape {
    Index layers = 12, d_model = 768, heads = 12, kv_heads = 12, head_dim = 64, d_ff = 3072,
          vocabulary = 50257;
    bool gated = false, tied = true;  // a gate in the MLP; the unembedding is the embedding
    bool operator==(const TypedShape&) const = default;
};
struct State {
    Part part = Part::time;
    Index tokens = 1024;
    Whose whose = Whose::open;  // the typed shape, too, where no model is open
    Index weight_bits = 32, cache_bits = 32;
    TypedShape typed{};
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

// Shapes beside each other, the open and the typed one first.
inline constexpr std::array<std::string_view, 7> shape_words{
    "open", "typed", "storyteller", "translator", "gpt2", "gpt2_medium", "llama3_8b"};
inline constexpr std::size_t first_known = 2, known_count = shape_words.size() - first_known;
TypedShape typed_as(const ModelShape& shape);  // what can be typed of it

// The lens's own numbers.
namespace cells {
inline constexpr std::array<std::string_view, 2> form_words{"naive", "fused"},
    part_words{"matrices", "attention"};
inline constexpr std::array<std::string_view, cost_means_count> means_words{"scalar", "simd", "threads"};
inline constexpr std::array<std::string_view, 3> roof_words{"peak", "bandwidth", "ridge"};
inline constexpr std::array<std::string_view, 5> operation_words{"prefill_attention", "prefill_mlp",
                                                                 "decode_attention", "decode_mlp", "head"};
inline constexpr std::array<std::string_view, 4> reached_words{"intensity", "rate", "roof", "share"};
inline constexpr std::array<std::string_view, amount_count> amount_words{
    "weights",       "reading",           "attention_share", "reading_bytes", "reading_intensity", "writing",
    "writing_bytes", "writing_intensity", "cache",           "reading_time",  "writing_time"};
inline constexpr std::array<std::string_view, 5> fitted_words{"exponent", "error", "scatter", "doubled",
                                                              "rate"};

// Measured times of a call, by n, and by d.
inline constexpr CellKind time{"time", {CellAxis{"form", form_words}, {"on", means_words}, {"n"}}};
inline constexpr CellKind width{"width", {CellAxis{"form", form_words}, {"on", means_words}, {"d"}}};
// What follows from the times over n, and from those over d.
inline constexpr CellKind over_n{
    "over_n", {CellAxis{"form", form_words}, {"on", means_words}, {"number", fitted_words}}};
inline constexpr CellKind over_d{
    "over_d", {CellAxis{"form", form_words}, {"on", means_words}, {"number", fitted_words}}};
inline constexpr CellKind memory{"memory", {CellAxis{"form", form_words}, {"n"}}};
inline constexpr CellKind roof{"roof", {CellAxis{"number", roof_words}}};
inline constexpr CellKind reached{"reached",
                                  {CellAxis{"operation", operation_words}, {"number", reached_words}}};
inline constexpr CellKind model{"model", {CellAxis{"shape", shape_words}, {"amount", amount_words}}};
inline constexpr CellKind reading{"reading", {CellAxis{"part", part_words}, {"tokens"}}};
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject&) { return std::nullopt; }
    static const char* tokens_alone() {
        return "Here n counts tokens: what a model takes depends on how many it reads.";
    }
    static bool suits(Subject&) { return true; }
    static Guide guide(Subject& subject);

    struct Key {
        State state;
        std::string open;
        std::optional<std::size_t> samples = {};
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return {state, open_name, samples}; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    const CostSeries* series_of(CostWork form, CostMeans means) const;  // null: not measured
    std::optional<Roofline> roofline() const { return measured->roofline(); }
    void measure_roof();
    // Null: no model is open.
    const ModelShape* shape(std::size_t which) const { return shapes[which] ? &*shapes[which] : nullptr; }
    std::string shape_name(std::size_t which) const;
    const KnownModel* typed_model() const;  // whose shape was typed; null: another shape
    std::size_t in_view() const { return state.whose == Whose::open && shapes[0] ? 0 : 1; }
    ModelUse use(std::size_t which) const { return use(which, state.tokens); }
    ModelUse use(std::size_t which, Index tokens) const;

    State state;
    std::string open_name;
    std::array<std::optional<ModelShape>, shape_words.size()> shapes;
    CostResults* measured = nullptr;  // the visit's, so that it stays until it is measured again
    std::vector<CostSeries> series;
    std::optional<std::size_t> samples = {};  // which the series are of
};

Sheet fits_sheet(const Model& model);
Sheet roof_sheet(const Model& model);
Sheet reached_sheet(const Model& model);
Sheet models_sheet(const Model& model);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::cost
