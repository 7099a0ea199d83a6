// Makes the matrices that lens Yours shows.
#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/yours/yours.hpp"

namespace attn::app::yours {

namespace {

constexpr Index most_whole = 8;  // columns that have room beside their numbers

constexpr std::array<const char*, 4> matrix_titles{"Yours", "The right result", "Yours − right",
                                                   "With this mistake"};
constexpr std::array<const char*, 4> matrix_keys{"yours/returned", "yours/right", "yours/difference",
                                                 "yours/explained"};

std::string where(const Shown& shown) {
    const AttentionCase& given = shown.given();
    std::string text;
    if (given.batch() > 1) text += "batch " + std::to_string(shown.batch());
    if (given.heads() > 1 && given.w_o.empty())
        text += (text.empty() ? "head " : ", head ") + std::to_string(shown.head());
    return text;
}

}  // namespace

Sheet output_sheet(const Model& model, Matrix which) {
    Shown& shown = *model.shown;
    const auto number = static_cast<std::size_t>(which);
    Sheet sheet{.key = matrix_keys[number],
                .title = matrix_titles[number],
                .notation = shown.of_weights() ? "weights" : "output",
                .about = where(shown),
                .rows = counted("query", shown.queries()),
                .columns = counted(shown.of_weights() ? "key" : "component", shown.columns()),
                .value = [&shown, which](Index r, Index c) { return shown.value(which, r, c); },
                .cell = [which](Index r, Index c) { return std::optional(cells::output(which, r, c)); },
                .is_signed = true,
                .is_whole = shown.columns() <= most_whole};
    sheet.rows.wanted = shown.by_difference();
    return sheet;
}

Sheet near_sheet(const Model& model) {
    Sheet sheet{
        .key = "yours/near",
        .title = "How near each mistake comes",
        .notation = "difference from yours, over the size of yours",
        .rows = {"mistake", {}},
        .columns = {"distance", {"off by"}},
        .value = [&model](Index r,
                          Index) { return model.result->nearest[static_cast<std::size_t>(r)].distance; },
        .cell = [](Index r, Index) { return std::optional(cells::near(r)); },
        .in_words = [](double x) { return fixed(x, 2); }};
    for (const NearMiss& miss : model.result->nearest) {
        std::string name = miss.causes.front().mistake->name;
        if (!miss.causes.front().detail.empty()) name += " (" + miss.causes.front().detail + ")";
        if (miss.causes.size() > 1) name += std::string(" + ") + miss.causes[1].mistake->name;
        sheet.rows.labels.push_back(std::move(name));
    }
    return sheet;
}

Sheet precision_sheet(const Model& model) {
    Sheet sheet{.key = "yours/precision",
                .title = "Yours against the error of each precision",
                .notation = "up to about 4, a precision explains the difference",
                .rows = {"precision", {}},
                .columns = {"ratio", {"mean", "worst row"}},
                .value =
                    [&model](Index r, Index c) {
                        const Fit& fit = model.result->levels[static_cast<std::size_t>(r)].fit;
                        return c == 0 ? fit.mean : fit.worst;
                    },
                .cell = [](Index r, Index c) { return std::optional(cells::precision(r, c)); },
                .in_words = [](double x) { return std::isfinite(x) ? fixed(x, 2) : std::string("∞"); }};
    for (const LevelFit& fit : model.result->levels) sheet.rows.labels.emplace_back(fit.level->name);
    return sheet;
}

std::string fix_text(const Model& model) {
    std::string text;
    for (const NamedCause& cause : model.result->verdict.causes) {
        const Remedy& remedy = cause.mistake->remedy;
        text += std::string("PyTorch  ") + remedy.pytorch + "\nJAX      " + remedy.jax + "\nNumPy    " +
                remedy.numpy + "\n";
    }
    return text;
}

std::vector<Table> Model::tables(Subject&) {
    if (!result || !shown) return {};
    std::vector<Table> all;
    for (const Matrix which : {Matrix::difference, Matrix::returned, Matrix::right})
        all.push_back(table_of(output_sheet(*this, which)));
    if (result->verdict.kind == Verdict::Kind::mistake)
        all.push_back(table_of(output_sheet(*this, Matrix::explained)));
    if (!result->nearest.empty()) all.push_back(table_of(near_sheet(*this)));
    all.push_back(table_of(precision_sheet(*this)));
    return all;
}

}  // namespace attn::app::yours
