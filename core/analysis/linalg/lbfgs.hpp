// Looks for a minimum of a smooth function by limited-memory BFGS (Nocedal & Wright 2006, "Numerical
// optimization", algorithm 7.5), with steps that are halved until the function falls enough (Armijo's
// condition, section 3.1). Pairs of steps and slopes along which the function does not curve upwards are left
// out.
#pragma once

#include <deque>
#include <functional>
#include <vector>

namespace attn {

class Lbfgs {
  public:
    // Returns the value at x and writes the slopes there.
    using Function = std::function<double(const std::vector<double>& x, std::vector<double>& slopes)>;
    Lbfgs(std::vector<double> start, Function function);

    bool step();  // evaluates the function once; true while it may fall further
    bool done() const { return done_; }

    const std::vector<double>& x() const { return x_; }
    double value() const { return value_; }
    double slope() const;  // |∇f|

  private:
    struct Pair {
        std::vector<double> moved, bent;  // changes of x and of the slopes
        double product;                   // their dot product
    };
    void choose_direction();

    Function function_;
    std::vector<double> x_, slopes_;
    double value_ = 0;
    std::vector<double> direction_;
    double falls_ = 0;  // slope along the direction
    double pace_ = 1;
    bool begun_ = false, done_ = false;
    std::deque<Pair> pairs_;
};

}  // namespace attn
