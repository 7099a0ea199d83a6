// Runs the recorded cases of the ONNX backend tests on every kernel table.

#include <catch_amalgamated.hpp>

#include "cli/conformance.hpp"
#include "support/kernels.hpp"
#include "support/shared_data.hpp"

using namespace attn;

TEST_CASE("Recorded ONNX cases pass", "[conformance]") {
    const auto folder = attn::test::shared_data("conformance");
    if (!folder)
        SKIP("shared/conformance is not beside this project; set ATTN_SHARED to the folder above it");
    const Kernels& kernels = test::generate_kernels();
    const auto cases = find_cases(*folder);
    CHECK_FALSE(cases.empty());
    for (const auto& path : cases) {
        const Status status = check_case(path, kernels);
        INFO(kernels.name << ": " << path.filename().string() << ": "
                          << (status ? "" : status.error().message));
        CHECK(status);
    }
}
