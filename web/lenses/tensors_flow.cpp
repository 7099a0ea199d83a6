// Who looks where in a person's own tensors.
#include "lenses/flow_part.hpp"
#include "lenses/tensors_view.hpp"
#include "widgets/controls.hpp"

namespace attn::lenses {

namespace {

constexpr Index most_flow_words = 4096;

FlowMemory tensors_flow_memory;

// Below each word its position, where the word is not that.
struct Positions {
    std::uint64_t source = 0;
    std::vector<std::string> texts;
};
Positions positions;

const std::vector<std::string>& positions_of(const TensorsView& view, std::uint64_t source) {
    if (positions.source != source) {
        positions = {source, std::vector<std::string>(static_cast<std::size_t>(view.set.queries()))};
        if (view.set.has_tokens())
            for (std::size_t i = 0; i < positions.texts.size(); ++i) positions.texts[i] = std::to_string(i);
        if (view.by_words()) positions.texts = app::below_words(view.set.query_words(), positions.texts);
    }
    return positions.texts;
}

}  // namespace

void tensors_flow(TensorsView& view, float width, float most_height) {
    app::TensorSet& set = view.set;
    const bool words = view.by_words();
    const app::ShownAxis queries = view.queries(), keys = view.keys();
    const char* why_not = std::max(std::ssize(queries.names), std::ssize(keys.names)) > most_flow_words
                              ? "The flow is drawn of up to 4,096 queries and keys; these are more."
                          : !set.finished() && !set.record()
                              ? "The flow is shown as soon as the attention is computed."
                              : nullptr;
    if (why_not) {
        ui::section("Flow");
        return ui::caption(why_not);
    }
    const app::Deadline deadline(frame_ms);
    const std::uint64_t source = 2 * set.version() + static_cast<std::uint64_t>(words);
    FlowPart part{
        .session = view.session,
        .hover = view.hover,
        .deadline = deadline,
        .memory = tensors_flow_memory,
        .source = source,
        .layers = set.layers(),
        .heads = set.heads(),
        .weights =
            [&](HeadIndex head) {
                return words ? set.make_word_map(head.layer, head.head)
                             : set.make_map(head.layer, head.head, app::MapStage::weight);
            },
        .queries = queries,
        .keys = keys,
        .small_print = positions_of(view, source),
        .one_line = set.query_names() == set.key_names(),
        .choice = view.session.state().tensors.flow,
        .choose =
            [](app::Session& session, app::FlowChoice flow, std::uint64_t gesture) {
                session.perform(app::SetTensorFlow{std::move(flow)}, gesture);
            },
        .pointed_query = view.pointed.query,
        .pointed_key = view.pointed.key,
        .point = [&](std::optional<Index> query, std::optional<Index> key) { view.now = {query, key}; }};
    draw_flow(part, width, most_height);
}

void forget_tensors_flow() { tensors_flow_memory = {}; }

}  // namespace attn::lenses
