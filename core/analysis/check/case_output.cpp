#include "analysis/check/case_output.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace attn {

namespace {

// The format of an output: numbers of 16 bits may have been stored in more.
NumberFormat format_of_output(const CaseArray& array) {
    constexpr std::size_t few = 8;
    const NumberFormat stored = format_of(array.dtype);
    if (info(stored).bits == 16) return stored;
    if (array.values.size() < few) return NumberFormat::f32;
    for (const NumberFormat format : {NumberFormat::bf16, NumberFormat::f16})
        if (std::ranges::all_of(array.values,
                                [&](double x) { return !std::isfinite(x) || rounded(format, x) == x; }))
            return format;
    return NumberFormat::f32;
}

std::string text_of(double x) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", x);
    return text;
}

}  // namespace

NumberFormat format_of(DType dtype) {
    switch (dtype) {
        case DType::f16: return NumberFormat::f16;
        case DType::bf16: return NumberFormat::bf16;
        case DType::f64: return NumberFormat::f64;
        default: return NumberFormat::f32;
    }
}

const CaseArray* find_role(const CaseRoles& roles, std::string_view role) {
    const auto at = roles.find(role);
    return at == roles.end() ? nullptr : at->second;
}

Status check_numbers(const CaseRoles& roles) {
    const auto find = [&](std::string_view role) { return find_role(roles, role); };
    struct Range {
        const char* role;
        double least, most;
        bool is_whole;
    };
    constexpr double huge = 1e30;
    for (const Range& may :
         {Range{"heads", 1, 65536, true}, Range{"kv_heads", 1, 65536, true}, Range{"past", -1e9, 1e9, true},
          Range{"causal", 0, 1, true}, Range{"scale", -huge, huge, false}, Range{"softcap", 0, huge, false},
          Range{"rope_base", 1e-30, huge, false}, Range{"rope_dim", 2, 1e6, true}, Range{"rope", 0, 1, true},
          Range{"rope_interleaved", 0, 1, true}}) {
        const CaseArray* array = find(may.role);
        if (!array) continue;
        const double n = array->values.size() == 1 ? array->values.front() : std::nan("");
        if (!(n >= may.least && n <= may.most) || (may.is_whole && n != std::floor(n)))
            return Error{"'" + array->name + "' must be one " + (may.is_whole ? "whole number" : "number") +
                         " from " + text_of(may.least) + " to " + text_of(may.most)};
    }
    if (const CaseArray* window = find("window"))
        for (const double w : window->values)
            if (window->values.size() > 2 || w != std::floor(w) || w < -1 || w > 1e9)
                return Error{"'" + window->name +
                             "' must be a whole number of keys, or how many before and after"};
    for (const char* role : {"q", "k", "v", "x", "x_kv", "w_q", "w_k", "w_v", "w_o"})
        if (const CaseArray* array = find(role))
            if (!std::ranges::all_of(array->values, [](double x) { return std::isfinite(x); }))
                return Error{"'" + array->name +
                             "' holds NaN or infinite numbers; save a case of finite inputs"};
    for (const char* role : {"mask", "bias", "token_mask", "padding"})
        if (const CaseArray* array = find(role))
            if (std::ranges::any_of(array->values, [](double x) { return std::isnan(x); }))
                return Error{"'" + array->name + "' holds NaN; save numbers, or -inf where keys are hidden"};
    return ok();
}

Error unfit(const CaseArray& array, const std::string& wanted) {
    return Error{"'" + array.name + "' is " + to_string(array.shape) + ", which does not fit: " + wanted};
}

Status place_output(AttentionCase& out, const CaseArray& array, Layout layout) {
    const Shape& s = array.shape;
    const Index b = out.batch(), h = out.heads(), n = out.queries(), w = out.output_width();
    out.output_rank = std::ssize(s);
    out.output_format = format_of_output(array);
    const Shape merged3{b, n, w}, merged2{n, w}, headed4{b, h, n, out.d_v()}, headed3{h, n, out.d_v()};
    const Shape third4{b, n, h, out.d_v()}, third3{n, h, out.d_v()};
    const bool prefers_heads = layout == Layout::by_head && out.w_o.empty();
    const bool by_head = s == headed4 || (s == headed3 && b == 1 && (prefers_heads || s != merged3));
    const bool merged = s == merged3 || (s == merged2 && b == 1) || s == third4 || (s == third3 && b == 1);
    if (out.w_o.empty() && by_head && (layout != Layout::heads_third || s != third4)) {
        out.output_by_head = true;
        Array4 heads(b, h, n, out.d_v());
        heads.values = array.values;
        out.output = merged_heads(heads);
    } else if (merged) {
        out.output = Array4(b, 1, n, w);
        out.output.values = array.values;
    } else {
        return unfit(array, "the output must be " + to_string(merged3) + " or " + to_string(headed4));
    }
    return ok();
}

Status place_weights(AttentionCase& out, const CaseArray& array) {
    const Shape& s = array.shape;
    const Index b = out.batch(), h = out.heads(), n = out.queries(), m = out.keys();
    const bool each = s == Shape{b, h, n, m} || (b == 1 && s == Shape{h, n, m});
    const bool mean = s == Shape{b, n, m} || s == Shape{b, 1, n, m} || (b == 1 && s == Shape{n, m});
    if (!each && !mean)
        return unfit(array, "the weights must be " + to_string({b, h, n, m}) + ", or " +
                                to_string({b, n, m}) + " for all heads");
    out.weights = Array4(b, each ? h : 1, n, m);
    out.weights.values = array.values;
    return ok();
}

}  // namespace attn
