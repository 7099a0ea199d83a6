// Eigen as a contestant: it answers lines of JSON as bench/contestant.hpp describes them. It is
// compiled for this machine.
#include <Eigen/Dense>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>

namespace {

using nlohmann::json;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<float> data, result;  // every input, one after the other
std::function<void()> call;

Eigen::Map<const Matrix> input(const json& task, const char* name, Eigen::Index skip, Eigen::Index rows,
                               Eigen::Index cols) {
    return {data.data() + task["inputs"][name]["offset"].get<Eigen::Index>() / 4 + skip, rows, cols};
}

void softmax(Matrix& scores) {
    for (Eigen::Index i = 0; i < scores.rows(); ++i) {
        auto row = scores.row(i).array();
        row = (row - row.maxCoeff()).exp();
        row /= row.sum();
    }
}

std::function<void()> attention(const json& task) {
    const Eigen::Index heads = task["heads"], kv_heads = task["kv_heads"], n = task["n"], d = task["d"],
                       window = task["window"];
    const float scale = 1 / std::sqrt(static_cast<float>(d));
    Matrix mask = Matrix::Zero(n, n);
    if (task["causal"])
        for (Eigen::Index i = 0; i < n; ++i)
            for (Eigen::Index j = 0; j < n; ++j)
                if (j > i || (window > 0 && i - j >= window))
                    mask(i, j) = -std::numeric_limits<float>::infinity();
    result.resize(static_cast<std::size_t>(heads * n * d));
    return [=, scores = Matrix(n, n)]() mutable {
        for (Eigen::Index h = 0; h < heads; ++h) {
            const Eigen::Index from = h / (heads / kv_heads) * n * d;
            scores.noalias() =
                scale * input(task, "q", h * n * d, n, d) * input(task, "k", from, n, d).transpose();
            if (task["causal"]) scores += mask;
            softmax(scores);
            Eigen::Map<Matrix>(result.data() + h * n * d, n, d).noalias() =
                scores * input(task, "v", from, n, d);
        }
    };
}

std::function<void()> linear(const json& task) {
    const Eigen::Index n = task["n"], in = task["in"], out = task["out"];
    result.resize(static_cast<std::size_t>(n * out));
    return [=] {
        Eigen::Map<Matrix> y(result.data(), n, out);
        y.noalias() = input(task, "x", 0, n, in) * input(task, "weight", 0, in, out);
        y.rowwise() += input(task, "bias", 0, 1, out).row(0);
    };
}

std::function<void()> exponentials(const json&) {
    result.resize(data.size());
    return [] {
        const auto count = static_cast<Eigen::Index>(data.size());
        Eigen::Map<Eigen::ArrayXf>(result.data(), count) =
            Eigen::Map<const Eigen::ArrayXf>(data.data(), count).exp();
    };
}

json run(double seconds) {
    using Clock = std::chrono::steady_clock;
    json times = json::array();
    const auto start = Clock::now();
    for (auto begin = start; times.empty() || begin - start < std::chrono::duration<double>(seconds);) {
        call();
        const auto end = Clock::now();
        times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
        begin = end;
    }
    return {{"times", times}};
}

json answer(const json& request) {
    const std::string wish = request["do"];
    if (wish == "open") {
        std::ifstream file(request["file"].get<std::string>(), std::ios::binary | std::ios::ate);
        data.resize(static_cast<std::size_t>(file.tellg()) / sizeof(float));
        file.seekg(0).read(reinterpret_cast<char*>(data.data()),
                           static_cast<std::streamsize>(data.size() * sizeof(float)));
        const std::string kind = request["kind"];
        call = kind == "attention" ? attention(request)
               : kind == "linear"  ? linear(request)
                                   : exponentials(request);
    }
    if (wish == "run") return run(request["seconds"]);
    if (wish == "output")
        std::ofstream(request["file"].get<std::string>(), std::ios::binary)
            .write(reinterpret_cast<const char*>(result.data()),
                   static_cast<std::streamsize>(result.size() * sizeof(float)));
    if (wish == "close") call = nullptr;
    return json::object();
}

}  // namespace

int main() {
    for (std::string line; std::getline(std::cin, line);)
        std::cout << answer(json::parse(line, nullptr, false)).dump() << std::endl;
}
