// Draws random values, both ones that a user might give and odd ones.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "attention/mask_presets.hpp"
#include "subjects/head_copy.hpp"
#include "unit/app/support.hpp"

namespace attn::test {

class RandomValues {
  public:
    explicit RandomValues(std::uint64_t seed) : random_(seed) {}

    Index below(Index limit) {
        return static_cast<Index>(random_.bits() % static_cast<std::uint64_t>(limit));
    }
    bool yes() { return below(2) == 0; }
    double share() { return random_.uniform(); }
    std::uint64_t bits() { return random_.bits(); }
    template <class T>
    const T& one_of(std::span<const T> list) {
        return list[static_cast<std::size_t>(below(std::ssize(list)))];
    }
    double number() {
        switch (below(8)) {
            case 0: return 0;
            case 1: return static_cast<double>(below(9)) / 4;
            case 2: return random_.normal() * 1e30;
            case 3: return random_.normal() * 1e-310;
            case 4: return std::numeric_limits<double>::infinity() * (below(2) ? 1 : -1);
            case 5: return below(3) ? 1e300 : std::numeric_limits<double>::quiet_NaN();
            default: return random_.normal();
        }
    }
    std::string text() {
        static constexpr const char* pieces[] = {"",  "cat", ",", "\\", " ",    "=",  "&",  "%",
                                                 "#", "+",   "ä", "🐈", "\xff", "\n", "a.b"};
        std::string text;
        for (Index i = below(6); i > 0; --i) text += pieces[below(std::ssize(pieces))];
        return below(20) ? text : std::string(static_cast<std::size_t>(below(3000)), 'x');
    }

    app::Matrix matrix(Index rows, Index cols) {
        app::Matrix m(rows, cols);
        for (double& value : m.values) value = number();
        return m;
    }
    // Most of the heads are ones that a run could have.
    app::HeadCopy head() {
        const auto odd = [&] { return below(15) == 0; };
        const Index queries = odd() ? 65 : 1 + below(5), keys = yes() ? queries : 1 + below(5),
                    d = 1 + below(4);
        const auto vectors = [&](Index rows, Index cols) {
            app::Matrix m(odd() ? rows + 1 : rows, odd() ? cols + 1 : cols);
            for (double& value : m.values) value = odd() ? number() : static_cast<float>(random_.normal());
            return m;
        };
        const auto names = [&](Index count) {
            std::vector<std::string> all;
            for (Index i = odd() ? 1 : 0; i < count; ++i) all.push_back(text());
            return all;
        };
        app::HeadCopy head{.q = vectors(queries, d),
                           .k = vectors(keys, d),
                           .v = below(4) ? vectors(keys, 1 + below(4)) : app::Matrix(),
                           .query_labels = names(queries),
                           .key_labels = names(keys),
                           .scale_by_sqrt_d = yes(),
                           .temperature = below(4) ? 1 : number(),
                           .softcap = below(4) ? 0 : number(),
                           .from = text()};
        if (yes()) {
            head.allowed.emplace();
            for (Index i = odd() ? 1 : 0; i < queries * keys; ++i) head.allowed->push_back(yes());
        }
        return head;
    }
    Mask mask(Index levels) {
        if (levels > 0 && yes()) {
            switch (below(3)) {
                case 0: return mask(levels - 1) & mask(levels - 1);
                case 1: return mask(levels - 1) | mask(levels - 1);
                default: return !mask(levels - 1);
            }
        }
        if (below(3) == 0) {
            CellRegion cells;
            for (Index i = below(200); i > 0; --i) {  // most of these are too long for a link
                const Index query = below(3000), key = below(3000);
                cells.add({query, query + 1 + below(8)}, {key, key + 1 + below(8)});
            }
            return with_cells(mask_atoms()[0].make(8), cells, yes());
        }
        return mask_atoms()[static_cast<std::size_t>(below(std::ssize(mask_atoms())))].make(below(3000));
    }

  private:
    Random random_;
};

}  // namespace attn::test
