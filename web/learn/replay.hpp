// Goes through a lesson in a visit, as a learner does who tries everything, and finds what is wrong with it:
// views that do not open, steps that pass before anything is done, solutions that fail, wrong attempts that
// fail elsewhere than they say, and numbers that cannot be computed.
#pragma once

#include <string>
#include <vector>

#include "app/visit.hpp"
#include "lesson/lesson.hpp"
#include "lesson/validate.hpp"

namespace attn::app::learn {

// What stands around a visit and answers it.
class Surroundings {
  public:
    virtual ~Surroundings() = default;
    // Gives the visit what it has asked for: a model, the tokens of a text. True if there was something.
    virtual bool deliver(Visit& visit) = 0;
    // Draws a frame: lenses begin to compute what they show when they are drawn.
    virtual void draw(Visit&) {}
    // Returns what has gone wrong since the last call, in sentences.
    virtual std::vector<std::string> take_errors() = 0;
};

// Finds what the lesson's text tells, with the names that the page knows.
std::vector<lesson::Finding> validated(const lesson::Lesson& lesson);

// Finds the rest, in the order of the steps.
std::vector<lesson::Finding> replay(const lesson::Lesson& lesson, Visit& visit, Surroundings& around);

}  // namespace attn::app::learn
