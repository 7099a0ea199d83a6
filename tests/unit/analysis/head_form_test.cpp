// Checks that the form of a head is found in steps, and that its directions add up to its squares.
#include "analysis/heads/head_form.hpp"

#include <catch_amalgamated.hpp>

#include "tensor/random.hpp"

using namespace attn;

TEST_CASE("the squares and directions of a form take several steps") {
    constexpr Index width = 40, d = 6;
    HeadWeights w;
    Random random(3);
    for (DenseMatrix* each : {&w.w_q, &w.w_k}) {
        *each = DenseMatrix(width, d);
        for (double& number : each->values) number = random.normal();
    }
    HeadForm form(FormOf::scores, w);
    CHECK(form.squares().square);
    CHECK(form.squares().whole == 0);
    CHECK_FALSE(form.directions());
    int steps = 1;
    while (form.step()) ++steps;
    CHECK(steps == 5);  // the squares, two factors, their product, and back
    REQUIRE(form.directions());
    double whole = 0, values = 0;
    for (Index i = 0; i < width; ++i)
        for (Index j = 0; j < width; ++j) {
            const double cell = form_cell<double>(form.factors(), i, j);
            whole += cell * cell;
        }
    for (const double value : form.directions()->values) values += value * value;
    CHECK(form.squares().whole == Catch::Approx(whole).epsilon(1e-12));
    CHECK(values == Catch::Approx(whole).epsilon(1e-12));
}
