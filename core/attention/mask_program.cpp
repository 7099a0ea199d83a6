#include "attention/mask_program.hpp"

#include <algorithm>
#include <map>

#include "attention/mask_node.hpp"

namespace attn {

namespace {

// The words of one library.
struct Words {
    const char *imports, *array, *query, *key;
};
constexpr Words words[mask_program_count] = {
    {"import torch\n", "torch.tensor(", "q", "k"},
    {"import torch\nfrom torch.nn.attention.flex_attention import create_block_mask\n\n"
     "device = \"cuda\" if torch.cuda.is_available() else \"cpu\"\n",
     "torch.tensor(", "q_idx", "kv_idx"},
    {"import jax.numpy as jnp\n", "jnp.array(", "q", "k"},
    {"import numpy as np\n", "np.array(", "q", "k"},
};

std::string in_digits(Index n) { return std::to_string(n); }
// "q + 2", "q - 2", or "q" alone.
std::string plus(const std::string& name, Index n) {
    return n == 0 ? name : name + (n < 0 ? " - " : " + ") + in_digits(std::abs(n));
}

class Writer {
  public:
    Writer(Index head, Index queries, Index keys, MaskProgram form)
        : head_(head),
          queries_(queries),
          keys_(keys),
          form_(form),
          words_(words[static_cast<std::size_t>(form)]),
          q_(words_.query),
          k_(words_.key) {}

    std::string program(const Mask& mask) {
        const std::string cells = expression(mask), n_q = in_digits(queries_), n_k = in_digits(keys_);
        const std::string sizes = "n_q, n_k = " + n_q + ", " + n_k + "\n";
        const auto axes = [](const std::string& arange) {
            return "q, k = " + arange + "(n_q)[:, None], " + arange + "(n_k)[None, :]\n";
        };
        std::string text = std::string("# True where a query may look at a key: ") + summary(mask) + "\n" +
                           words_.imports + "\n" + sizes;
        switch (form_) {
            case MaskProgram::torch:
                return text + axes("torch.arange") + tables_ + "allowed = (" + cells + ").expand(n_q, n_k)\n";
            case MaskProgram::flex_attention:
                return text + tables_ + "\n\ndef mask_mod(b, h, q_idx, kv_idx):\n    return " + cells +
                       "\n\n\nblock_mask = create_block_mask(mask_mod, B=None, H=None, Q_LEN=n_q, "
                       "KV_LEN=n_k, "
                       "device=device)\n";
            case MaskProgram::jax:
                return text + axes("jnp.arange") + tables_ + "allowed = jnp.broadcast_to(" + cells +
                       ", (n_q, n_k))\n";
            case MaskProgram::numpy:
                return text + axes("np.arange") + tables_ + "allowed = np.broadcast_to(" + cells +
                       ", (n_q, n_k))\n";
        }
        return text;
    }

  private:
    static std::string summary(const Mask& mask) {
        constexpr std::size_t most = 100;
        const std::string text = mask.text();
        return text.size() <= most ? text : text.substr(0, most) + " …";
    }

    // Defines a table and returns its name. `rows` is a list in Python.
    std::string table(const char* what, const std::string& rows) {
        const std::string name = what + ("_" + in_digits(++tables_made_));
        tables_ += name + " = " + words_.array + rows +
                   (form_ == MaskProgram::flex_attention ? ", device=device)\n" : ")\n");
        return name;
    }
    // A list of bits [rows, cols], one text for each row.
    template <class Allowed>
    static std::string bits(Index rows, Index cols, Allowed allowed) {
        std::string text = "[[c == \"1\" for c in row] for row in [";
        for (Index r = 0; r < rows; ++r) {
            text += r > 0 ? ", \"" : "\"";
            for (Index c = 0; c < cols; ++c) text += allowed(r, c) ? '1' : '0';
            text += '"';
        }
        return text + "]]";
    }
    // A list of as many numbers as there are positions, by its runs; positions beyond the list have
    // `missing`.
    static std::string runs(const std::vector<Index>& list, Index size, const char* missing) {
        std::string text;
        const auto add = [&](const std::string& value, Index count) {
            text += (text.empty() ? "[" : " + [") + value + "]" + (count > 1 ? " * " + in_digits(count) : "");
        };
        for (auto at = list.begin(); at != list.end();) {
            const auto end = std::find_if(at, list.end(), [&](Index other) { return other != *at; });
            add(in_digits(*at), end - at);
            at = end;
        }
        if (std::ssize(list) < size) add(missing, size - std::ssize(list));
        return text.empty() ? "[]" : text;
    }

    // One axis of a table: how it is indexed, how many entries it has, and how many the positions ask for.
    struct Axis {
        std::string index;
        Index size, wanted;
    };
    // A cell of a table of bits, and false beyond it. An axis of size 1 with `broadcast` serves all
    // positions.
    template <class Allowed>
    std::string looked_up(const char* what, Axis row, Axis col, bool broadcast, Allowed allowed) {
        std::string within;
        const auto cut = [&](Axis& axis) {
            const bool one = broadcast && axis.size == 1;
            axis.size = std::min(axis.size, axis.wanted);
            if (one) {
                axis.index += " * 0";
            } else if (axis.size < axis.wanted && axis.size > 0) {
                within += " & (" + axis.index + " < " + in_digits(axis.size) + ")";
                axis.index = "(" + axis.index + ") % " + in_digits(axis.size);
            }
        };
        cut(row);
        cut(col);
        if (row.size <= 0 || col.size <= 0) return "(" + q_ + " < 0)";
        const std::string name = table(what, bits(row.size, col.size, allowed));
        return "(" + name + "[" + row.index + ", " + col.index + "]" + within + ")";
    }

    // Every expression stands in brackets of its own.
    std::string expression(const Mask& mask) {
        const Mask::Node* node = Mask::Node::of(mask);
        if (!node) return "(" + q_ + " >= 0)";
        return std::visit([&](const auto& m) { return write(m); }, node->value);
    }

    std::string write(const Causal& m) { return "(" + k_ + " <= " + plus(q_, m.offset) + ")"; }
    std::string write(const Window& m) {
        return "((" + plus(q_, -m.before) + " <= " + k_ + ") & (" + k_ + " <= " + plus(q_, m.after) + "))";
    }
    std::string write(const Padding& m) { return "(" + k_ + " < " + in_digits(m.visible_keys) + ")"; }
    std::string write(const SameDocument& m) {
        // Documents are counted, so that negative numbers are left for what belongs to none.
        std::map<std::int32_t, Index> counted;
        const auto counts = [&](const std::vector<std::int32_t>& documents, Index size) {
            std::vector<Index> list;
            for (Index i = 0; i < std::min(std::ssize(documents), size); ++i)
                list.push_back(
                    counted.try_emplace(documents[static_cast<std::size_t>(i)], std::ssize(counted))
                        .first->second);
            return list;
        };
        const std::string query = table("document_of_query", runs(counts(m.query, queries_), queries_, "-1")),
                          key = table("document_of_key", runs(counts(m.key, keys_), keys_, "-2"));
        return "(" + query + "[" + q_ + "] == " + key + "[" + k_ + "])";
    }
    std::string write(const Prefix& m) {
        return "((" + k_ + " < " + in_digits(m.length) + ") | (" + k_ + " <= " + q_ + "))";
    }
    std::string write(const Strided& m) {
        return "((" + q_ + " - " + k_ + ") % " + in_digits(m.stride) + " == 0)";
    }
    std::string write(const BlockSparse& m) {
        const auto axis = [&](const std::string& position, Index size, Index positions) {
            return Axis{position + " // " + in_digits(m.block), size, (positions + m.block - 1) / m.block};
        };
        return looked_up(
            "blocks", axis(q_, m.query_blocks, queries_), axis(k_, m.key_blocks, keys_), false,
            [&](Index r, Index c) { return m.allowed[static_cast<std::size_t>(r * m.key_blocks + c)]; });
    }
    std::string write(const GlobalLocal& m) {
        std::string near = "(abs(" + q_ + " - " + k_ + ") <= " + in_digits(m.radius) + ")";
        const Index size = std::max(queries_, keys_);
        std::vector<Index> tokens;
        for (const Index token : m.tokens)
            if (token >= 0 && token < size) tokens.push_back(token);
        if (tokens.empty()) return near;
        std::string list;
        for (const Index token : tokens) list += (list.empty() ? "" : ", ") + in_digits(token);
        const std::string name =
            table("is_global", "[i in {" + list + "} for i in range(" + in_digits(size) + ")]");
        return "(" + near + " | " + name + "[" + q_ + "] | " + name + "[" + k_ + "])";
    }
    std::string write(const PaintedBits& m) {
        if (m.heads != 1 && head_ >= m.heads) return "(" + q_ + " < 0)";
        const Mask painted = Mask::painted(m);
        return looked_up("painted", {q_, m.rows, queries_}, {k_, m.cols, keys_}, true,
                         [&](Index r, Index c) { return painted.allows(head_, r, c); });
    }
    std::string write(const Cells& m) {
        const std::vector<CellBand>& bands = m.region.bands();
        if (bands.empty()) return "(" + q_ + " < 0)";
        // Keys are cut where any run begins or ends; what lies between two cuts is a column of the table. Row
        // 0 is that of queries in no band.
        std::vector<Index> cuts{0}, row(static_cast<std::size_t>(queries_)),
            column(static_cast<std::size_t>(keys_));
        for (std::size_t b = 0; b < bands.size(); ++b) {
            for (const Range& keys : bands[b].keys) cuts.insert(cuts.end(), {keys.begin, keys.end});
            for (Index q = bands[b].queries.begin; q < std::min(bands[b].queries.end, queries_); ++q)
                row[static_cast<std::size_t>(q)] = static_cast<Index>(b) + 1;
        }
        std::ranges::sort(cuts);
        const auto repeated = std::ranges::unique(cuts);
        cuts.erase(repeated.begin(), repeated.end());
        for (Index k = 0; k < keys_; ++k)
            column[static_cast<std::size_t>(k)] = std::ranges::upper_bound(cuts, k) - cuts.begin() - 1;
        const std::string rows = table("band", runs(row, queries_, "0")),
                          columns = table("run", runs(column, keys_, "0")),
                          cells = table(
                              "cells", bits(std::ssize(bands) + 1, std::ssize(cuts), [&](Index r, Index c) {
                                  return r > 0 && m.region.contains(
                                                      bands[static_cast<std::size_t>(r - 1)].queries.begin,
                                                      cuts[static_cast<std::size_t>(c)]);
                              }));
        return "(" + cells + "[" + rows + "[" + q_ + "], " + columns + "[" + k_ + "]])";
    }
    std::string write(const Conjunction& m) { return joined(m.operands, " & "); }
    std::string write(const Disjunction& m) { return joined(m.operands, " | "); }
    std::string write(const Negation& m) { return "(~" + expression(m.operand) + ")"; }
    std::string joined(const std::vector<Mask>& operands, const char* sign) {
        std::string text;
        for (const Mask& operand : operands) text += (text.empty() ? "" : sign) + expression(operand);
        return "(" + text + ")";
    }

    Index head_, queries_, keys_;
    MaskProgram form_;
    const Words& words_;
    std::string q_, k_;
    std::string tables_;  // their definitions
    Index tables_made_ = 0;
};

}  // namespace

std::string mask_program(const Mask& mask, Index head, Index queries, Index keys, MaskProgram form) {
    return Writer(head, queries, keys, form).program(mask);
}

}  // namespace attn
