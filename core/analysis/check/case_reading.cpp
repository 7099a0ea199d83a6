#include "analysis/check/case_reading.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "analysis/check/case_mask.hpp"
#include "analysis/check/case_output.hpp"
#include "analysis/check/implementation.hpp"

namespace attn {

namespace {

class CaseReader {
  public:
    explicit CaseReader(const std::vector<CaseArray>& arrays) {
        if (arrays.size() == 4 && take_in_order(arrays)) return;
        for (const CaseArray& array : arrays)
            if (const auto role = case_role(array.name);
                role.empty() || !by_role_.emplace(role, &array).second)
                unread_.push_back(array.name);
    }

    Result<std::vector<AttentionCase>> read() {
        if (!find("output") && !find("weights"))
            return Error{
                "there is neither an 'output' nor 'weights' that your code returned; save it as 'output'"};
        if (Status status = check_numbers(by_role_); !status) return status.error();
        for (const auto& [role, array] : by_role_)
            if (std::ranges::find(array->shape, 0) != array->shape.end())
                return Error{"'" + array->name + "' is empty (" + to_string(array->shape) +
                             "); save at least one row"};
        std::vector<AttentionCase> cases;
        std::optional<Error> first;
        for (const bool linear : {false, true})
            for (const Layout layout : layouts(linear)) {
                auto one = read_as(layout, linear);
                if (!one) {
                    if (!first) first = one.error();
                    continue;
                }
                cases.push_back(*std::move(one));
                // Without a causal mask, rotated or windowed queries may begin at 0 or end at the last key.
                const AttentionCase& read = cases.back();
                if ((!read.rope && !read.mask.window) || read.mask.causal || find("past") ||
                    read.queries() == read.keys())
                    continue;
                AttentionCase at_end = read;
                at_end.mask.offset = read.keys() - read.queries();
                at_end.notes.emplace_back(
                    "The last query is taken to stand at the last key; save 'past' to say otherwise.");
                cases.push_back(std::move(at_end));
            }
        if (cases.empty())
            return first.value_or(Error{"there is no 'q', or 'x' with 'w_q'; save what went in"});
        return cases;
    }

  private:
    const CaseArray* find(std::string_view role) const { return find_role(by_role_, role); }
    std::optional<double> number(std::string_view role) const {
        const CaseArray* array = find(role);
        if (!array || array->values.size() != 1) return std::nullopt;
        return array->values.front();
    }
    std::optional<Index> whole(std::string_view role) const {
        const auto n = number(role);
        if (!n || std::abs(*n) > 1e9) return std::nullopt;
        return static_cast<Index>(std::llround(*n));
    }

    // numpy.savez calls unnamed arrays arr_0, arr_1, …
    bool take_in_order(const std::vector<CaseArray>& arrays) {
        constexpr std::array roles{"q", "k", "v", "output"};
        for (std::size_t i = 0; i < roles.size(); ++i)
            if (!arrays[i].name.ends_with("arr_" + std::to_string(i))) return false;
        for (std::size_t i = 0; i < roles.size(); ++i) by_role_.emplace(roles[i], &arrays[i]);
        return true;
    }

    bool projects() const { return !find("q") && find("x"); }

    std::vector<Layout> layouts(bool linear) const {
        if (projects()) {
            // A square matrix may be stored either way, unless its name tells.
            const bool told = !find("w_q") && !find("w_qkv") && find("linear_q");
            if (linear && told) return {};
            return {Layout::merged};
        }
        if (linear || !find("q")) return {};
        const Shape& q = find("q")->shape;
        const Index heads = whole("heads").value_or(0);
        switch (q.size()) {
            case 2: return heads > 1 ? std::vector{Layout::merged} : std::vector{Layout::by_head};
            case 3:
                if (heads <= 0 || heads == 1) return {Layout::by_head};
                if (q[0] == heads) return {Layout::by_head, Layout::merged};
                return {Layout::merged};
            case 4:
                if (heads > 0 && q[1] != heads && q[2] == heads) return {Layout::heads_third};
                return {Layout::by_head, Layout::heads_third};
            default: return {Layout::by_head};
        }
    }

    // [batch, heads, n, d] of q, k or v.
    Result<Array4> headed(const CaseArray& array, Layout layout, Index heads) const {
        const Shape& s = array.shape;
        Array4 out;
        if (layout == Layout::merged) {
            if (s.size() != 2 && s.size() != 3)
                return unfit(array, "[batch, n, heads · d] has two or three axes");
            const Index width = s.back();
            if (heads <= 0 || width % heads != 0)
                return unfit(array,
                             "its last axis must be a multiple of the " + std::to_string(heads) + " heads");
            const Index n = s[s.size() - 2], b = s.size() == 3 ? s[0] : 1;
            out = Array4(b, 1, n, width);
            out.values = array.values;
            return split_heads(out, heads);
        }
        if (s.size() < 2 || s.size() > 4) return unfit(array, "[batch, heads, n, d] has two to four axes");
        const Index d = s.back(), n = s[s.size() - 2];
        if (layout == Layout::by_head || s.size() < 4) {
            out = Array4(s.size() == 4 ? s[0] : 1, s.size() == 4 ? s[1] : s.size() == 3 ? s[0] : 1, n, d);
            out.values = array.values;
            return out;
        }
        out = Array4(s[0], 1, s[1], s[2] * d);
        out.values = array.values;
        return split_heads(out, s[2]);
    }

    static Array4 matrix(const CaseArray& array, bool transposed, Range columns = {}) {
        const Index rows = array.shape[0], cols = array.shape[1];
        if (columns.size() == 0) columns = {0, transposed ? rows : cols};
        Array4 out(1, 1, transposed ? cols : rows, columns.size());
        for (Index a = 0; a < out.rows; ++a)
            for (Index c = 0; c < out.cols; ++c) {
                const Index o = columns.begin + c;
                out.row(0, 0, a)[static_cast<std::size_t>(c)] =
                    array.values[static_cast<std::size_t>(transposed ? o * cols + a : a * cols + o)];
            }
        return out;
    }
    static Array4 vector(const CaseArray* array, Range part = {}) {
        if (!array) return {};
        if (part.size() == 0) part = {0, std::ssize(array->values)};
        Array4 out(1, 1, 1, part.size());
        std::copy(array->values.begin() + part.begin, array->values.begin() + part.end, out.values.begin());
        return out;
    }

    Result<Array4> sequence(const CaseArray& array) const {
        const Shape& s = array.shape;
        if (s.size() != 2 && s.size() != 3) return unfit(array, "it is [n, d_model] or [batch, n, d_model]");
        Array4 out(s.size() == 3 ? s[0] : 1, 1, s[s.size() - 2], s.back());
        out.values = array.values;
        return out;
    }

    // W of a projection, [in, out]; `linear` tries the other way of storing it.
    Result<Array4> weight(std::string_view kind, Index in, bool linear, Index part = -1) const {
        const CaseArray* array = find("w_" + std::string(kind));
        bool transposed = linear;
        if (!array) {
            array = find("linear_" + std::string(kind));
            transposed = !linear;
        }
        if (!array) return Error{"'w_" + std::string(kind) + "' is missing; save it beside 'x'"};
        if (array->shape.size() != 2) return unfit(*array, "a projection is a matrix");
        if (array->shape[transposed ? 1 : 0] != in) {
            if (array->shape[transposed ? 0 : 1] != in || linear)
                return unfit(*array, "one of its axes must be " + std::to_string(in));
            transposed = !transposed;
        } else if (linear && array->shape[0] != array->shape[1]) {
            return unfit(*array, "it has one reading only");
        }
        if (part < 0) return matrix(*array, transposed);
        const Index third = array->shape[transposed ? 0 : 1] / 3;
        return matrix(*array, transposed, {part * third, (part + 1) * third});
    }

    Status project(AttentionCase& out, bool linear) const {
        CaseProjections p;
        auto x = sequence(*find("x"));
        if (!x) return x.error();
        p.x = *std::move(x);
        p.x_kv = p.x;
        if (const CaseArray* other = find("x_kv")) {
            auto kv = sequence(*other);
            if (!kv) return kv.error();
            p.x_kv = *std::move(kv);
        }
        const bool fused = !find("w_q") && !find("linear_q") && (find("w_qkv") || find("linear_qkv"));
        Array4* weights[] = {&p.w_q, &p.w_k, &p.w_v};
        Array4* biases[] = {&p.b_q, &p.b_k, &p.b_v};
        constexpr std::array<const char*, 3> kinds{"q", "k", "v"}, bias_names{"b_q", "b_k", "b_v"};
        for (std::size_t i = 0; i < 3; ++i) {
            const Index in = i == 0 ? p.x.cols : p.x_kv.cols;
            auto w = fused ? weight("qkv", in, linear, static_cast<Index>(i)) : weight(kinds[i], in, linear);
            if (!w) return w.error();
            *weights[i] = *std::move(w);
            if (fused && find("b_qkv")) {
                const Index third = std::ssize(find("b_qkv")->values) / 3;
                *biases[i] =
                    vector(find("b_qkv"), {static_cast<Index>(i) * third, static_cast<Index>(i + 1) * third});
            } else {
                *biases[i] = vector(find(bias_names[i]));
            }
            if (!biases[i]->empty() && biases[i]->cols != weights[i]->cols)
                return Error{"the bias of " + std::string(kinds[i]) + " has " +
                             std::to_string(biases[i]->cols) + " numbers, its projection " +
                             std::to_string(weights[i]->cols) + " columns; they must agree"};
        }
        out.projections = std::move(p);
        return ok();
    }

    Result<AttentionCase> read_as(Layout layout, bool linear) const {
        AttentionCase out;
        const Index heads = whole("heads").value_or(1);
        if (projects()) {
            if (Status status = project(out, linear); !status) return status.error();
            const CaseProjections& p = *out.projections;
            if (p.w_q.cols % heads != 0)
                return Error{"'w_q' has " + std::to_string(p.w_q.cols) + " columns, which " +
                             std::to_string(heads) + " heads do not divide; save the right 'heads'"};
            const Index d = p.w_q.cols / heads;
            const Index kv = whole("kv_heads").value_or(std::max<Index>(1, p.w_k.cols / d));
            if (p.w_k.cols != kv * d || p.w_v.cols % kv != 0)
                return Error{"'w_k' has " + std::to_string(p.w_k.cols) + " columns, but " +
                             std::to_string(kv) + " kv heads of " + std::to_string(d) + " need " +
                             std::to_string(kv * d)};
            // read_inputs splits by these shapes.
            out.q = Array4(p.x.batch, heads, p.x.rows, d);
            out.k = Array4(p.x_kv.batch, kv, p.x_kv.rows, d);
            out.v = Array4(p.x_kv.batch, kv, p.x_kv.rows, p.w_v.cols / kv);
            ReadInputs in = read_inputs(out, {}, {});
            out.q = std::move(in.q), out.k = std::move(in.k), out.v = std::move(in.v);
            out.input_format = format_of(find("x")->dtype);
            if (linear)
                out.notes.push_back("The matrices are read as [out, in], as PyTorch's Linear stores them.");
        } else {
            for (const char* name : {"k", "v"})
                if (!find(name)) return Error{"'" + std::string(name) + "' is missing; save it beside 'q'"};
            if (!find("q"))
                return Error{"'q' is missing, or 'x' with 'w_q', 'w_k' and 'w_v'; save what went in"};
            auto q = headed(*find("q"), layout, heads);
            if (!q) return q.error();
            out.q = *std::move(q);
            const Index kv = kv_heads(layout, out);
            auto k = headed(*find("k"), layout, kv), v = headed(*find("v"), layout, kv);
            if (!k) return k.error();
            if (!v) return v.error();
            out.k = *std::move(k), out.v = *std::move(v);
            out.input_format = format_of(find("q")->dtype);
            if (layout == Layout::heads_third)
                out.notes.push_back("q, k and v are read as [batch, n, heads, d].");
        }
        if (Status status = check_shapes(out); !status) return status.error();
        if (Status status = read_rule(out); !status) return status.error();
        if (Status status = read_output(out, layout, linear); !status) return status.error();
        out.unread = unread_;
        for (const std::string& name : unread_)
            out.notes.push_back("'" + name +
                                "' was not read: a case has no such array, or has another for it.");
        if (const CaseArray* q = find("q"); q && std::ssize(q->shape) == 3 && !find("heads"))
            out.notes.push_back("There is no 'heads', so '" + q->name + "' is read as [heads, n, d].");
        return out;
    }

    Index kv_heads(Layout layout, const AttentionCase& out) const {
        if (const auto n = whole("kv_heads")) return *n;
        if (layout != Layout::merged) return out.heads();
        const Index width = find("k")->shape.back();
        return std::max<Index>(1, width / out.d_k());
    }

    Status check_shapes(const AttentionCase& c) const {
        const auto disagree = [](const std::string& what, Index a, Index b) {
            return Error{what + " disagree: " + std::to_string(a) + " and " + std::to_string(b)};
        };
        if (c.k.batch != c.q.batch) return disagree("the batches of q and k", c.q.batch, c.k.batch);
        if (c.v.batch != c.k.batch) return disagree("the batches of k and v", c.k.batch, c.v.batch);
        if (c.k.cols != c.q.cols) return disagree("the widths d_k of q and k", c.q.cols, c.k.cols);
        if (c.k.rows != c.v.rows) return disagree("the numbers of keys and values", c.k.rows, c.v.rows);
        if (c.k.heads != c.v.heads) return disagree("the heads of k and v", c.k.heads, c.v.heads);
        if (c.q.heads % c.k.heads != 0)
            return Error{"the " + std::to_string(c.q.heads) + " heads of q are no multiple of the " +
                         std::to_string(c.k.heads) + " of k; save 'heads' and 'kv_heads', or other axes"};
        if (const auto heads = whole("heads"); heads && *heads != c.q.heads)
            return disagree("'heads' and the heads of q", *heads, c.q.heads);
        if (const auto kv = whole("kv_heads"); kv && *kv != c.k.heads)
            return disagree("'kv_heads' and the heads of k", *kv, c.k.heads);
        return ok();
    }

    Status read_rule(AttentionCase& out) const {
        out.scale = number("scale").value_or(1 / std::sqrt(static_cast<double>(out.d_k())));
        out.softcap = number("softcap").value_or(0);
        const Index past = whole("past").value_or(out.keys() - out.queries());
        if (number("causal").value_or(0) != 0) out.mask.causal = out.mask.offset = past;
        if (find("past")) out.mask.offset = past;
        out.alignment_is_open = out.mask.causal && !find("past") && out.keys() != out.queries();
        if (out.alignment_is_open)
            out.notes.emplace_back(
                "'causal' is taken to let the last query see the last key. If your first query stands on the "
                "first key, "
                "save past = 0.");
        const MaskShape shape{out.batch(), out.heads(), out.queries(), out.keys()};
        if (const CaseArray* window = find("window")) {
            const auto& w = window->values;
            if (w.size() == 2 && w[0] >= 0)
                out.mask.window =
                    CaseWindow{static_cast<Index>(w[0]), w[1] < 0 ? out.keys() : static_cast<Index>(w[1])};
            else if (w.size() == 1 && w[0] >= 1)
                out.mask.window = CaseWindow{static_cast<Index>(w[0]) - 1,
                                             out.mask.causal ? 0 : static_cast<Index>(w[0]) - 1};
        }
        if (Status status = read_masks(out, shape); !status) return status.error();
        const double base = number("rope_base").value_or(0);
        if (base > 0 || number("rope").value_or(0) != 0 || find("rope_interleaved")) {
            out.rope = CaseRope{.interleaved = number("rope_interleaved").value_or(0) != 0,
                                .base = base > 0 ? base : 10000,
                                .dim = whole("rope_dim").value_or(out.d_k()) / 2 * 2};
            if (out.rope->dim < 2 || out.rope->dim > out.d_k())
                return Error{"'rope_dim' must be from 2 to d_k = " + std::to_string(out.d_k())};
        }
        return ok();
    }

    Status read_masks(AttentionCase& out, const MaskShape& shape) const {
        const auto add = [&](const CaseArray& array, bool by_key, bool inverted) -> Status {
            auto mask = placed_mask(array, shape, by_key);
            if (!mask) return mask.error();
            for (double& x : mask->values) x = (x != 0) != inverted;
            add_painted(out.mask, *std::move(mask), shape);
            return ok();
        };
        if (const CaseArray* keep = find("padding"))
            if (Status status = add(*keep, true, false); !status) return status;
        if (const CaseArray* hidden = find("hidden"))
            if (Status status = add(*hidden, true, true); !status) return status;
        if (const CaseArray* lengths = find("lengths")) {
            CaseArray keep{lengths->name, DType::boolean, {std::ssize(lengths->values), shape.keys}, {}};
            for (const double n : lengths->values)
                for (Index j = 0; j < shape.keys; ++j) keep.values.push_back(static_cast<double>(j) < n);
            if (Status status = add(keep, true, false); !status) return status;
        }
        for (const char* role : {"mask", "token_mask"}) {
            const CaseArray* mask = find(role);
            if (!mask) continue;
            const bool by_key = mask == find("token_mask");
            if (is_zero_one(*mask)) {
                if (Status status = add(*mask, by_key, false); !status) return status;
            } else if (hides_by_numbers(*mask)) {
                CaseArray bits = *mask;
                for (double& x : bits.values) x = x == 0;
                if (Status status = add(bits, by_key, false); !status) return status;
            } else {
                auto added = placed_mask(*mask, shape, by_key);
                if (!added) return added.error();
                if (!out.bias.empty())
                    return Error{"two masks add numbers to the scores; save their sum as 'bias'"};
                out.bias = *std::move(added);
            }
        }
        if (const CaseArray* bias = find("bias")) {
            auto added = placed_mask(*bias, shape, false);
            if (!added) return added.error();
            if (!out.bias.empty())
                return Error{"'mask' and 'bias' both add numbers to the scores; save their sum as 'bias'"};
            out.bias = *std::move(added);
        }
        return ok();
    }

    Status read_output(AttentionCase& out, Layout layout, bool linear) const {
        if (projects() && (find("w_o") || find("linear_o"))) {
            const CaseArray* array = find("w_o") ? find("w_o") : find("linear_o");
            const Index in = out.heads() * out.d_v();
            if (array->shape.size() != 2) return unfit(*array, "a projection is a matrix");
            bool transposed = !find("w_o");
            if (linear) transposed = !transposed;
            if (array->shape[transposed ? 1 : 0] != in) transposed = !transposed;
            if (array->shape[transposed ? 1 : 0] != in)
                return unfit(*array, "one of its axes must be heads · d_v = " + std::to_string(in));
            out.w_o = matrix(*array, transposed);
            out.b_o = vector(find("b_o"));
            if (!out.b_o.empty() && out.b_o.cols != out.w_o.cols)
                return Error{"'b_o' has " + std::to_string(out.b_o.cols) + " numbers, 'w_o' has " +
                             std::to_string(out.w_o.cols) + " columns; they must agree"};
        }
        if (const CaseArray* array = find("output"))
            if (Status status = place_output(out, *array, layout); !status) return status;
        if (const CaseArray* array = find("weights"))
            if (Status status = place_weights(out, *array); !status) return status;
        return ok();
    }

    CaseRoles by_role_;
    std::vector<std::string> unread_;
};

}  // namespace

Result<std::vector<AttentionCase>> read_case(const std::vector<CaseArray>& arrays) {
    return CaseReader(arrays).read();
}

}  // namespace attn
