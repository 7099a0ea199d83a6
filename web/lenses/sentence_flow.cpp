// Who looks where in a sentence.
#include "app/map_source.hpp"
#include "lenses/flow_part.hpp"
#include "lenses/sentence_view.hpp"

namespace attn::lenses {

namespace {

FlowMemory sentence_flow_memory;

// Below each word its token's number.
struct TokenIds {
    std::uint64_t source = 0;
    std::vector<std::string> texts;
};
TokenIds token_ids;

const std::vector<std::string>& ids_of(const SentenceView& view, std::uint64_t source) {
    if (token_ids.source != source) {
        token_ids = {source, {}};
        for (const std::int32_t id : view.run.trace->ids()) token_ids.texts.push_back(std::to_string(id));
        if (view.by_words()) token_ids.texts = app::below_words(view.run.words, token_ids.texts);
    }
    return token_ids.texts;
}

}  // namespace

void sentence_flow(SentenceView& view, float width, float most_height) {
    const auto& layers = view.run.trace->layers();
    const bool words = view.by_words();
    const std::uint64_t source = 2 * view.run.version + static_cast<std::uint64_t>(words);
    FlowPart part{
        .session = view.session,
        .hover = view.hover,
        .deadline = view.deadline,
        .memory = sentence_flow_memory,
        .source = source,
        .layers = std::ssize(layers),
        .heads = layers[0].attention.heads(),
        .weights =
            [&](HeadIndex head) {
                const auto& trace = view.run.trace;
                return words ? app::word_map_of(trace, head.layer, head.head, view.run.words.tokens,
                                                app::Sink::shown)
                             : app::map_of(trace, head.layer, head.head, app::MapStage::weight,
                                           app::Sink::shown);
            },
        .queries = view.axis(),
        .keys = view.axis(),
        .small_print = ids_of(view, source),
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
