// Makes the matrices that lens Steer shows.
#include <cmath>

#include "app/format.hpp"
#include "lenses/steer/steer.hpp"

namespace attn::app::steer {

Sheet lengths_sheet(const Model& model, Subject& subject) {
    const double stream = model.run->vector.stream;
    return {.key = "steer/length",
            .title = "Lengths",
            .about = model.place_name(subject),
            .rows = {"vector", {"mean stream", "direction", "what is added"}},
            .columns = {"length", {"length", "of the stream’s"}},
            .value =
                [&model, stream](Index r, Index c) {
                    const double length = r == 0   ? stream
                                          : r == 1 ? model.run->vector.length
                                                   : std::abs(model.steering.dial) * stream;
                    return c == 0 ? length : stream == 0 ? 0 : length / stream;
                },
            .cell = [](Index r, Index c) { return c == 0 ? std::optional(cells::length(r)) : std::nullopt; },
            .decimals = 3};
}

Sheet written_sheet(const Model& model, Subject& subject) {
    Sheet sheet{.key = "steer/written",
                .title = "How the text goes on",
                .notation = "the likeliest token each time, coloured by its probability",
                .about = "dial at " + shortest(model.dial_shown),
                .rows = {"run", {"before"}},
                .columns = {"token", {}}};
    if (model.dial_shown != 0) sheet.rows.labels.emplace_back("after");
    std::size_t count = 0;
    for (Index r = 0; r < sheet.rows.size(); ++r)
        count = std::max(count, model.side(static_cast<Side>(r))->written().size());
    sheet.columns = counted("token", static_cast<Index>(count));
    const auto at = [&model](Index r, Index c) -> const SteeredText::Written* {
        const auto written = model.side(static_cast<Side>(r))->written();
        return c < std::ssize(written) ? &written[static_cast<std::size_t>(c)] : nullptr;
    };
    sheet.value = [at](Index r, Index c) { return at(r, c) ? at(r, c)->probability() : NAN; };
    sheet.text = [at, &model, &subject](Index r, Index c) {
        return at(r, c) ? Vocabulary::bare(model.vocabulary.text(subject, at(r, c)->id)) : "";
    };
    sheet.tip = [at, &model, &subject](Index r, Index c) {
        return at(r, c)
                   ? model.vocabulary.name(subject, at(r, c)->id) + ", " + chance(at(r, c)->probability())
                   : "";
    };
    sheet.cell = [at](Index r, Index c) {
        return at(r, c) ? std::optional(cells::written(r, c)) : std::nullopt;
    };
    sheet.is_coloured = true;
    sheet.most = 1;
    return sheet;
}

std::vector<Table> Model::tables(Subject& subject) {
    if (!is_ready()) return {};
    std::vector<Table> all{table_of(lengths_sheet(*this, subject))};
    if (!side(Side::before)->written().empty())
        all.insert(all.begin(), table_of(written_sheet(*this, subject)));
    return all;
}

}  // namespace attn::app::steer
