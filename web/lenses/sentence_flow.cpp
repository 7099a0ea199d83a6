// Who looks where in a sentence.
#include "app/map_source.hpp"
#include "lenses/flow_part.hpp"
#include "lenses/sentence_view.hpp"

namespace attn::lenses {

namespace {

FlowMemory sentence_flow_memory;

// Below each word its token's number.
struct TokenIds {
    std::uint64_t version = 0;
    std::vector<std::string> texts;
};
TokenIds token_ids;

const std::vector<std::string>& ids_of(const app::SentenceRun& run) {
    if (token_ids.version != run.version) {
        token_ids = {run.version, {}};
        for (const std::int32_t id : run.trace->ids()) token_ids.texts.push_back(std::to_string(id));
    }
    return token_ids.texts;
}

}  // namespace

void sentence_flow(SentenceView& view, float width, float most_height) {
    const auto& layers = view.run.trace->layers();
    FlowPart part{
        .session = view.session,
        .hover = view.hover,
        .deadline = view.deadline,
        .memory = sentence_flow_memory,
        .source = view.run.version,
        .layers = std::ssize(layers),
        .heads = layers[0].attention.heads(),
        .weights =
            [&](HeadIndex head) {
                return app::map_of(view.run.trace, head.layer, head.head, app::MapStage::weight,
                                   app::Sink::shown);
            },
        .queries = view.run.pieces,
        .keys = view.run.pieces,
        .small_print = ids_of(view.run),
        .one_line = true,
        .choice = view.session.state().sentence.flow,
        .choose = [](app::Session& session, app::FlowChoice flow,
                     std::uint64_t gesture) { session.perform(app::SetFlow{std::move(flow)}, gesture); },
        .pointed_query = view.pointed.query,
        .pointed_key = view.pointed.key,
        .point = [&](std::optional<Index> query, std::optional<Index> key) { view.point(query, key); }};
    draw_flow(part, width, most_height);
}

}  // namespace attn::lenses
