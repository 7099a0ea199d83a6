// Explains an element of an einsum as a sum of products.
#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "subjects/explain.hpp"

namespace attn::app::geometry {

namespace {

constexpr Index most_products = 4096;  // an explanation lists all products up to this number

std::string index_text(const EinsumLoops& loops, Index element) {
    std::string text;
    for (auto size = loops.shape.rbegin(); size != loops.shape.rend(); ++size) {
        text = std::to_string(element % *size) + (text.empty() ? "" : ", " + text);
        element /= *size;
    }
    return text;
}

}  // namespace

std::optional<Explained> explain_einsum(Model& model, Subject&, const LensCell& cell) {
    const NamedSum& all = *model.sum();
    const Einsum& sum = all.sum();
    const Index element = cell.at[0] * all.last() + cell.at[1], products = sum.products();
    std::string product, summed;
    for (std::size_t o = 0; o < all.text().names.size(); ++o) {
        std::string indices;
        for (const char c : all.text().operands[o])
            indices += (indices.empty() ? "" : ", ") + std::string(1, c);
        product += (o > 0 ? " · " : "") + all.text().names[o] + "[" + indices + "]";
    }
    for (const EinsumLoops::Loop& loop : sum.loops().loops)
        if (loop.summed) summed += (summed.empty() ? "" : ", ") + std::string(1, loop.index);
    Explained out{
        .title = sum.loops().shape.empty() ? "out" : "out[" + index_text(sum.loops(), element) + "]",
        .f32 = static_cast<double>(sum.f32()[static_cast<std::size_t>(element)]),
        .f64 = sum.f64()[static_cast<std::size_t>(element)],
        .formula = (summed.empty() ? "" : "Σ_" + summed + " ") + product};
    if (products > most_products) {
        out.note = "A sum of " + with_commas(products) + " products, too many to list.";
        return out;
    }
    out.operands_title = summed.empty() ? "One product" : "For each " + summed;
    for (Index p = 0; p < products; ++p) {
        const Einsum::Product one = sum.product(element, p);
        const auto factor = [&](std::size_t o) {
            return static_cast<double>(all.operand(o).values[static_cast<std::size_t>(one.factors[o])]);
        };
        const auto place = [&](std::size_t o) {
            const auto [head, stage, row, col] = all.operand(o).place(one.factors[o]);
            return CellPlace{head, RunCell{stage, row, col}};
        };
        std::string name;
        for (const Index at : one.summed) name += (name.empty() ? "" : ", ") + std::to_string(at);
        // The factors after the first are combined into one, which has a place only if it is a single number.
        double others = 1;
        for (std::size_t o = 1; o < one.factors.size(); ++o) others *= factor(o);
        out.term(std::move(name), factor(0), others, place(0),
                 one.factors.size() == 2 ? std::optional(place(1)) : std::nullopt);
    }
    out.line("element", out.dot("left", "right"));
    if (const auto& same = all.same())
        out.note = "This result is " + std::string(same->matrix->name) + ", the " + same->matrix->what +
                   ", to " + fixed(same->off, 2) + ".";
    return out;
}

}  // namespace attn::app::geometry
