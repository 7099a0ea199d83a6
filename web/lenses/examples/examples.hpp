// Lens Examples shows what makes the chosen head fire, in many texts. The strongest pairs of a query and a
// key stand beside those at every decile and beside random ones (analysis/heads/head_examples.hpp).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/fields.hpp"
#include "lenses/lens.hpp"
#include "parts/example_lines.hpp"
#include "runs/example_search.hpp"

namespace attn::app::examples {

struct State {
    ExampleMeasure by = ExampleMeasure::effect;
    Index texts = 100;  // to read
    bool operator==(const State&) const = default;
    static const Fields<State>& fields();
};
LinkRows links();

enum class List { strongest, deciles, random };
inline constexpr std::size_t list_count = 3;

// The lens's own numbers: the chosen measure of a pair of tokens in a text. Texts are counted from 0.
namespace cells {
inline constexpr CellKind pair{"pair", {CellAxis{"text"}, {"query"}, {"key"}}};
}  // namespace cells
CellKinds numbers();

class Model {
  public:
    static std::optional<Missing> missing(Subject& subject);
    static const char* tokens_alone() {
        return "The pairs stay tokens: each is a place in a text, which a click opens.";
    }
    static bool suits(Subject& subject) { return subject.text_model() != nullptr; }
    static Guide guide(Subject& subject);

    struct Key {
        std::uint64_t version = 0;  // the version of the texts
        Index texts = 0;            // read so far; −1: all
        HeadIndex head;
        State state;
        bool operator==(const Key&) const = default;
    };
    void update(Visit& visit, Subject& subject);
    Key key() const { return of; }
    std::string headline(Subject& subject);
    std::vector<Table> tables(Subject& subject);
    std::optional<Explained> explain(Subject& subject, const LensCell& cell);

    ExampleSearch* search = nullptr;  // null while the model is being opened; then there are no pairs
    Key of;
    using Pairs = std::array<std::vector<HeadExample>, list_count>;
    Derived<Key, Pairs> pairs;
    const std::vector<HeadExample>& list(List which) const {
        return (*pairs.kept())[static_cast<std::size_t>(which)];
    }
    const SplitText& text_of(const HeadExample& pair) const {
        return search->texts()[static_cast<std::size_t>(pair.text)];
    }
    // The run of a text, computed once more; null if the model cannot read it.
    std::shared_ptr<const Trace> run_of(Index text);

  private:
    Derived<std::pair<std::uint64_t, Index>, std::shared_ptr<const Trace>> run_;
};

parts::ExampleLines lines_of(const Model& model, List which);
void draw_model(Model& model, const Drawing& drawing, Subject& subject);

}  // namespace attn::app::examples
