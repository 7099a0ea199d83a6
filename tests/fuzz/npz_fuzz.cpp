// Reads any bytes as a .npz archive dropped on its own. Unpacked data must have the size and the CRC-32 that
// the archive announced, and answering questions must come to an end.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/target.hpp"
#include "io/npz.hpp"
#include "io/tensor_files.hpp"
#include "io/tensor_match.hpp"
#include "io/weight_check.hpp"

using namespace attn;

namespace {

bool lies_in(std::span<const std::byte> part, std::span<const std::byte> whole) {
    return part.empty() ||
           (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void check_entries(std::span<const std::byte> file) {
    const auto entries = parse_zip(file);
    if (!entries) {
        require(entries.error().message.starts_with("this "));
        return;
    }
    std::size_t packed = 0;
    for (const ZipEntry& entry : *entries) {
        require(lies_in(entry.packed, file));
        packed += entry.packed.size();
        const auto start = unpack_start(entry, 100);
        auto unpacked = Unpacking(entry).finish();
        if (!unpacked) continue;
        require(unpacked->bytes.size() == entry.size);
        require(entry.deflated == (unpacked->room != nullptr));
        require(start && std::ranges::equal(*start, unpacked->bytes.first(start->size())));
    }
    require(packed <= file.size());  // no bytes are used twice
}

// Gives the first answer to every question until there is nothing left to ask.
void answer_all(const FoundFiles& found) {
    Answers answers;
    for (int round = 0; round < 100; ++round) {
        const auto result = match(found, answers);
        if (!result) {
            require(!result.error().message.empty());
            return;
        }
        if (const auto* questions = std::get_if<std::vector<Question>>(&*result)) {
            require(!questions->empty());
            for (const Question& question : *questions) {
                require(!question.choices.empty());
                answers[question.id] = question.choices.front().answer;
            }
            continue;
        }
        const auto& matched = std::get<Matched>(*result);
        for (const PlacedTensor& place : matched.weights) {
            const auto loaded = TensorLoading(found.tensors[place.tensor]).finish();
            if (!loaded) return;
            ValueChecking checking({placed(loaded->array, place)}, ValueChecking::Kind::weights);
            while (checking.step()) {
            }
            require(told(checking.findings(), "x").size() <= 5);
        }
        return;
    }
    require(false);  // the questions never ended
}

}  // namespace

FUZZ_TARGET(npz) {
    const auto file = std::as_bytes(std::span(data, size));
    check_entries(file);
    if (const auto found = FileReading({{"run.npz", file}}).finish()) answer_all(*found);
    return 0;
}
