#include "parts/take_over.hpp"

#include "app/format.hpp"

namespace attn::parts {

std::optional<app::Offer> offer_of(const app::Visit& visit, const app::HeadCopy& copy) {
    for (const app::SubjectEntry& entry : app::subject_list())
        if (auto command = static_cast<app::Subject&>(visit.subject(entry.key)).take_over(copy))
            return app::Offer{std::string("Edit a copy in ") + entry.name, *std::move(command)};
    return std::nullopt;
}

std::optional<app::HeadCopy> chosen_copy(app::Subject& subject, Range queries, Range keys) {
    const HeadIndex chosen = subject.chosen_head();
    const app::Attention* attention = subject.attention();
    const auto record = attention ? attention->record(chosen.layer) : nullptr;
    // The example has no biases.
    if (!record || !record->spec().bias.empty()) return std::nullopt;
    std::string from = app::head_text(chosen, attention->numbering(), ", ") + " of " + attention->title();
    const bool whole = queries == Range{0, attention->queries()} && keys == Range{0, attention->keys()};
    if (!whole)
        from += ", tokens " + std::to_string(queries.begin) + " to " + std::to_string(queries.end - 1);
    return app::copy_of(*record, chosen.head, queries, keys, attention->query_names(), attention->key_names(),
                        from);
}

std::optional<app::Offer> take_over(const app::Visit& visit, app::Subject& subject, Range queries,
                                    Range keys) {
    const auto copy = chosen_copy(subject, queries, keys);
    // A head that can be edited in place needs no copy.
    if (!copy || subject.take_over(*copy)) return std::nullopt;
    return offer_of(visit, *copy);
}

void draw_take_over(const app::Drawing& drawing, app::Subject& subject, Range queries, Range keys) {
    const auto offer = take_over(drawing.visit, subject, queries, keys);
    if (!offer) return;
    if (ui::button("take", offer->label.c_str())) drawing.visit.perform(offer->command);
    ui::tooltip(
        "Copies this head's q, k and v for these tokens, exactly as they are, so that you can change "
        "them");
}

}  // namespace attn::parts
