#include "analysis/linalg/einsum.hpp"

#include <algorithm>
#include <utility>

namespace attn {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
std::string counted(std::size_t count, const char* what) {
    return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}
std::string quoted(char c) { return std::string("“") + c + "”"; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

std::vector<std::string_view> parts_of(std::string_view text) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t comma = text.find(',');
        parts.push_back(trimmed(text.substr(0, comma)));
        if (comma == std::string_view::npos) return parts;
        text.remove_prefix(comma + 1);
    }
}

// The letters of "i k", or one sentence about what is none.
Result<std::string> indices_of(std::string_view text) {
    std::string indices;
    for (const char c : text) {
        if (c == ' ') continue;
        if (c == '.') return Error{"Write every index out: “...” is not read here."};
        if (!is_letter(c))
            return Error{
                "An index is a letter from a to z or A to Z; there is something else before “with”."};
        indices += c;
    }
    if (indices.size() > einsum_rank_limit)
        return Error{"“" + indices + "” has more than three indices; matrices here have one, two or three."};
    return indices;
}

// The indices that stand once, capitals first, as NumPy sorts them.
std::string implied_result(const std::vector<std::string>& operands) {
    std::string all, once;
    for (const std::string& each : operands) all += each;
    std::ranges::sort(all);
    for (const char c : all)
        if (std::ranges::count(all, c) == 1) once += c;
    return once;
}

std::string cell_of(const std::string& name, const std::string& indices) {
    std::string text = name + "[";
    for (std::size_t i = 0; i < indices.size(); ++i) text += (i > 0 ? ", " : "") + std::string(1, indices[i]);
    return text + "]";
}

}  // namespace

Result<EinsumText> EinsumText::parse(std::string_view text) {
    constexpr std::string_view with = " with ";
    if (text.size() > einsum_text_limit)
        return Error{"An einsum here has at most " + std::to_string(einsum_text_limit) + " characters."};
    const std::size_t middle = text.find(with);
    if (middle == std::string_view::npos)
        return Error{"Say which matrices it is of, as in ik,jk->ij with Q, K."};
    const std::string_view subscripts = text.substr(0, middle);
    const std::size_t arrow = subscripts.find("->");
    EinsumText made;
    for (const std::string_view part : parts_of(subscripts.substr(0, arrow))) {
        auto indices = indices_of(part);
        if (!indices) return indices.error();
        if (indices->empty()) return Error{"Between two commas there is no index; each operand needs one."};
        made.operands.push_back(*std::move(indices));
    }
    if (made.operands.size() > einsum_operand_limit)
        return Error{"An einsum here takes at most " + std::to_string(einsum_operand_limit) + " operands."};
    for (const std::string_view name : parts_of(text.substr(middle + with.size()))) {
        if (name.empty()) return Error{"After “with” a name is missing, as in ik,jk->ij with Q, K."};
        made.names.emplace_back(name);
    }
    if (made.names.size() != made.operands.size())
        return Error{"There are indices for " + counted(made.operands.size(), "operand") + ", and " +
                     counted(made.names.size(), "name") + " after “with”."};
    std::string all;
    for (const std::string& each : made.operands) all += each;
    if (arrow == std::string_view::npos) {
        made.result = implied_result(made.operands);
    } else {
        auto result = indices_of(subscripts.substr(arrow + 2));
        if (!result) return result.error();
        made.result = *std::move(result);
    }
    if (made.result.size() > einsum_rank_limit)
        return Error{"The result would have more than three indices; sum over some of them."};
    for (const char c : made.result) {
        if (std::ranges::count(made.result, c) > 1)
            return Error{"The index " + quoted(c) + " stands twice in the result."};
        if (all.find(c) == std::string::npos)
            return Error{"The index " + quoted(c) + " of the result is in no operand."};
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    if (all.size() > einsum_index_limit)
        return Error{"An einsum here has at most " + std::to_string(einsum_index_limit) +
                     " different indices."};
    return made;
}

std::string EinsumText::subscripts() const {
    std::string text;
    for (const std::string& each : operands) text += (text.empty() ? "" : ",") + each;
    return text + "->" + result;
}

Result<EinsumLoops> EinsumLoops::of(const EinsumText& text, std::span<const Shape> shapes) {
    EinsumLoops made{{}, {}, 1};
    for (const char c : text.result) made.loops.push_back({c, -1, false, ""});
    for (std::size_t o = 0; o < text.operands.size(); ++o) {
        const std::string &indices = text.operands[o], &name = text.names[o];
        if (std::ssize(indices) != std::ssize(shapes[o]))
            return Error{name + " is " + to_string(shapes[o]) + ", so it does not take the " +
                         std::to_string(indices.size()) +
                         (indices.size() == 1 ? " index of “" : " indices of “") + indices + "”."};
        for (std::size_t i = 0; i < indices.size(); ++i) {
            const Index size = shapes[o][i];
            auto loop = std::ranges::find(made.loops, indices[i], &Loop::index);
            if (loop == made.loops.end()) {
                made.loops.push_back({indices[i], -1, true, ""});
                loop = made.loops.end() - 1;
            }
            if (loop->size < 0) {
                loop->size = size;
                loop->from = name;
            } else if (loop->size != size) {
                return Error{"The index " + quoted(indices[i]) + " does not fit: it has " +
                             std::to_string(loop->size) + " values in " + loop->from + " and " +
                             std::to_string(size) + " in " + name + "."};
            }
        }
    }
    // Each size is at most einsum_work_limit on the way, so that the product does not overflow.
    Index elements = 1;
    bool none = false;
    for (const Loop& loop : made.loops) none |= loop.size == 0;
    for (const Loop& loop : made.loops) {
        if (!loop.summed) made.shape.push_back(loop.size);
        if (none) continue;
        if (loop.size > einsum_work_limit / made.multiply_adds)
            return Error{"That would take more than " + std::to_string(einsum_work_limit / 1'000'000) +
                         " million multiply-adds; contract fewer operands at a time."};
        made.multiply_adds *= loop.size;
        if (!loop.summed) elements *= loop.size;
    }
    if (none) made.multiply_adds = 0;
    if (elements > einsum_size_limit)
        return Error{"The result would have more than " + std::to_string(einsum_size_limit / 1'000'000) +
                     " million numbers; sum over an index."};
    return made;
}

std::vector<std::string> EinsumLoops::written(const EinsumText& text) const {
    std::vector<std::string> lines;
    std::string indent, product;
    const std::string result = text.result.empty() ? "out" : cell_of("out", text.result);
    const auto open = [&](const Loop& loop) {
        lines.push_back(indent + "for " + loop.index + " in range(" + std::to_string(loop.size) + "):");
        indent += "    ";
    };
    for (std::size_t o = 0; o < text.operands.size(); ++o)
        product += (o > 0 ? " * " : "") + cell_of(text.names[o], text.operands[o]);
    const bool sums = std::ranges::any_of(loops, &Loop::summed);
    for (const Loop& loop : loops)
        if (!loop.summed) open(loop);
    if (sums) lines.push_back(indent + result + " = 0");
    for (const Loop& loop : loops)
        if (loop.summed) open(loop);
    lines.push_back(indent + result + (sums ? " += " : " = ") + product);
    return lines;
}

Einsum::Einsum(const EinsumText& text, EinsumLoops loops, std::vector<std::span<const float>> operands)
    : loops_(std::move(loops)),
      operands_(std::move(operands)),
      at_(loops_.loops.size()),
      offsets_(operands_.size()) {
    for (const std::string& indices : text.operands) {
        std::vector<Index>& strides = strides_.emplace_back(loops_.loops.size());
        Index stride = 1;
        for (auto c = indices.rbegin(); c != indices.rend(); ++c) {
            const auto loop = std::ranges::find(loops_.loops, *c, &EinsumLoops::Loop::index);
            strides[static_cast<std::size_t>(loop - loops_.loops.begin())] += stride;
            stride *= loop->size;
        }
    }
    Index elements = 1;
    for (const Index size : loops_.shape) elements *= size;
    f32_.resize(static_cast<std::size_t>(elements));
    f64_.resize(f32_.size());
}

bool Einsum::advance() {
    bool complete = false;
    for (std::size_t loop = at_.size(); loop-- > 0;) {
        const auto& [index, size, summed, from] = loops_.loops[loop];
        complete |= !summed;
        const bool more = ++at_[loop] < size;
        if (!more) at_[loop] = 0;
        for (std::size_t o = 0; o < offsets_.size(); ++o)
            offsets_[o] += more ? strides_[o][loop] : -strides_[o][loop] * (size - 1);
        if (more) return complete;
    }
    return true;
}

bool Einsum::step(std::int64_t multiply_adds) {
    for (; multiply_adds > 0 && !done(); --multiply_adds, ++done_) {
        float product32 = 1;
        double product64 = 1;
        for (std::size_t o = 0; o < operands_.size(); ++o) {
            const float factor = operands_[o][static_cast<std::size_t>(offsets_[o])];
            product32 *= factor;
            product64 *= static_cast<double>(factor);
        }
        sum32_ += product32;
        sum64_ += product64;
        if (!advance()) continue;
        f32_[static_cast<std::size_t>(element_)] = std::exchange(sum32_, 0.0f);
        f64_[static_cast<std::size_t>(element_++)] = std::exchange(sum64_, 0.0);
    }
    return !done();
}

Index Einsum::products() const {
    Index count = 1;
    for (const EinsumLoops::Loop& loop : loops_.loops)
        if (loop.summed) count *= loop.size;
    return count;
}

Einsum::Product Einsum::product(Index element, Index which) const {
    Product found{std::vector<Index>(operands_.size()), {}};
    for (std::size_t loop = at_.size(); loop-- > 0;) {
        const auto& [index, size, summed, from] = loops_.loops[loop];
        Index& of = summed ? which : element;
        const Index at = of % size;
        of /= size;
        for (std::size_t o = 0; o < operands_.size(); ++o) found.factors[o] += at * strides_[o][loop];
        if (summed) found.summed.insert(found.summed.begin(), at);
    }
    return found;
}

}  // namespace attn
