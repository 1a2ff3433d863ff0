// A dynamic C++ program: exceptions through a library's frames, streams, containers, run-time types.
#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() { std::cout << "gone\n"; }
    virtual double area() const = 0;
};

struct Square : Shape {
    explicit Square(double side) : side(side) {}
    double area() const override {
        if (side < 0) throw std::domain_error("a negative side");
        return side * side;
    }
    double side;
};

int main() {
    std::map<std::string, int> counts;
    std::istringstream words("one two two three three three");
    for (std::string word; words >> word;) counts[word]++;
    for (const auto &[word, count] : counts) std::cout << word << '=' << count << '\n';
    try {
        std::unique_ptr<Shape> good = std::make_unique<Square>(3), bad = std::make_unique<Square>(-1);
        std::cout << good->area() << ' ' << (dynamic_cast<Square *>(good.get()) != nullptr) << '\n';
        // The exception passes through code of the library.
        std::vector<Shape *> shapes{good.get(), bad.get()};
        std::sort(shapes.begin(), shapes.end(), [](Shape *a, Shape *b) { return a->area() < b->area(); });
    } catch (const std::exception &problem) {
        std::cout << "caught " << problem.what() << std::endl;
    }
    try {
        std::vector<int>{1, 2}.at(2);
    } catch (const std::out_of_range &) {
        std::cout << "out of range\n";
    }
}
