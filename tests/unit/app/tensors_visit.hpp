// Drops a user's own tensors into a visit that runs without a browser.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/npy.hpp"
#include "model/model.hpp"
#include "support/numbers.hpp"
#include "tensor/random.hpp"
#include "unit/app/visit.hpp"

namespace attn::test {

using Drop = std::vector<std::pair<std::string, Bytes>>;

inline Bytes text_file(std::string_view words) {
    const auto bytes = as_bytes(words);
    return {bytes.begin(), bytes.end()};
}

// Returns rows that sum to 1 to within float rounding.
inline std::vector<float> random_weights(Index rows, Index columns, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> out;
    for (Index row = 0; row < rows; ++row) {
        std::vector<double> values;
        double sum = 0;
        for (Index column = 0; column < columns; ++column) sum += values.emplace_back(random.uniform());
        for (const double value : values) out.push_back(static_cast<float>(value / sum));
    }
    return out;
}

inline Bytes normal_npy(const Shape& shape, std::uint64_t seed) {
    return write_npy(shape, random_tensor(shape, seed).values());
}

inline Bytes weights_npy(const Shape& shape, std::uint64_t seed = 1) {
    Index rows = 1;
    for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis];
    return write_npy(shape, random_weights(rows, shape.back(), seed));
}

// Hands over files as the page does; processing them is part of the work.
inline void put(app::Visit& visit, const Drop& files) {
    app::OwnTensors& own = tensors_in(visit).own();
    for (const auto& [name, bytes] : files) {
        auto to = own.buffer(name, bytes.size());
        REQUIRE(to);
        std::ranges::copy(bytes, *to);
    }
    own.arrived(app::tensors_of(visit.state()).files, app::tensors_of(visit.state()).answers);
}

struct TensorsVisit {
    FakePage page;
    app::Visit visit{page};

    app::OwnTensors& own() { return tensors_in(visit).own(); }
    app::TensorSet* open() { return own().open(); }
    const app::State& state() { return visit.state(); }
    const app::MapChoice& choice() { return app::looks_of(state(), app::tensors_subject).map; }
    void put(const Drop& files) { test::put(visit, files); }
    void drop(const Drop& files) {
        put(files);
        work();
    }
    void work() {
        for (int i = 0; i < 10'000; ++i)
            if (!visit.work(10)) return;
        FAIL("the work does not end");
    }
    void answer(const std::string& question, const std::string& answer) {
        own().answer(question, answer);
        work();
    }
    float cell(Index layer, Index head, Index query, Index key) {
        return open()->map(layer, head, choice())->cell(query, key);
    }
    std::string refusal() {
        REQUIRE(page.notices.size() == 1);
        const std::string said = page.notices[0];
        page.notices.clear();
        CHECK(said.ends_with('.'));
        CHECK_THAT(said, !Catch::Matchers::ContainsSubstring("\n"));
        return said;
    }
};

}  // namespace attn::test
