// A C++ program against glibc and libstdc++: exceptions thrown through several frames, destructors on
// their way, run-time types, virtual calls, and containers. It writes what happens, in order, and ends
// with a code that depends on all of it.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#define NOINLINE __attribute__((noinline))

static uint64_t sum = 0xcbf29ce484222325u;

NOINLINE static void note(const char *what, long value)
{
    for (const char *p = what; *p; p++)
        sum = (sum ^ static_cast<unsigned char>(*p)) * 0x100000001b3u;
    sum = (sum ^ static_cast<uint64_t>(value)) * 0x100000001b3u;
    std::printf("%s %ld\n", what, value);
}

// Says when it goes, which is how the order of unwinding becomes visible.
struct Guard {
    const char *name;
    long depth;
    static long live;
    Guard(const char *name, long depth) : name(name), depth(depth) { live++; }
    Guard(const Guard &) = delete;
    ~Guard()
    {
        live--;
        if (std::uncaught_exceptions() > 0)
            note(name, depth);
    }
};
long Guard::live = 0;

struct Failure : std::runtime_error {
    long place;
    Failure(const std::string &what, long place) : std::runtime_error(what), place(place) {}
};
struct Overflow : Failure {
    using Failure::Failure;
};
struct Underflow final : Failure {
    double exact;
    Underflow(long place, double exact) : Failure("underflow", place), exact(exact) {}
};

// Thrown through as many frames as its argument says, each with something to destroy.
NOINLINE static long descend(long depth, int kind)
{
    Guard guard("unwound", depth);
    if (depth == 0) {
        switch (kind) {
        case 0: throw Overflow("overflow", 7);
        case 1: throw Underflow(9, 0.125);
        case 2: throw 42;
        case 3: throw std::string("text");
        case 4: throw std::unique_ptr<long>(new long(5));
        default: return 1;
        }
    }
    return descend(depth - 1, kind) + 1;
}

// Catches some, turns one into another, and lets the rest pass.
NOINLINE static long middle(int kind)
{
    Guard guard("middle", kind);
    try {
        return descend(4, kind);
    } catch (const Overflow &e) {
        note(e.what(), e.place);
        throw; // the same exception goes on
    } catch (const std::string &text) {
        note("replaced", static_cast<long>(text.size()));
        throw Failure(text + " became a failure", 3);
    }
}

NOINLINE static long outer(int kind)
{
    try {
        Guard guard("outer", kind);
        return middle(kind);
    } catch (const Failure &e) {
        note(e.what(), e.place);
        // What it is shows only when it runs.
        if (auto *underflow = dynamic_cast<const Underflow *>(&e))
            note("exact, in eighths", static_cast<long>(underflow->exact * 8));
        note(typeid(e) == typeid(Overflow) ? "is an overflow" : typeid(e).name(), kind);
        return -e.place;
    } catch (int number) {
        note("number", number);
        return -number;
    } catch (...) {
        note("something else", kind);
        return -1;
    }
}

// Virtual calls through two bases, with offsets to adjust.
struct Shape {
    virtual ~Shape() { note("shape gone", 0); }
    virtual double area() const = 0;
};
struct Named {
    std::string name;
    explicit Named(std::string name) : name(std::move(name)) {}
    virtual ~Named() = default;
    virtual const char *label() const { return name.c_str(); }
};
struct Square : Shape, Named {
    double side;
    explicit Square(double side) : Named("square"), side(side) {}
    double area() const override { return side * side; }
};
struct Circle : Shape, Named {
    double radius;
    explicit Circle(double radius) : Named("circle"), radius(radius)
    {
        if (radius < 0)
            throw std::invalid_argument("a negative radius"); // both bases are built by now
    }
    double area() const override { return radius * radius * 3.140625; }
    const char *label() const override { return "round"; }
};
struct Nothing : Shape {
    double area() const override { return 0; }
};

static void shapes()
{
    std::vector<std::unique_ptr<Shape>> all;
    for (int i = 1; i <= 4; i++) {
        if (i % 2)
            all.emplace_back(new Square(i));
        else
            all.emplace_back(new Circle(i));
    }
    all.emplace_back(new Nothing);
    for (const auto &shape : all) {
        const Named *named = dynamic_cast<const Named *>(shape.get());
        note(named ? named->label() : "nameless", static_cast<long>(shape->area() * 64));
    }
    try {
        all.emplace_back(new Circle(-1));
    } catch (const std::invalid_argument &e) {
        note(e.what(), static_cast<long>(all.size()));
    }
    try {
        note(dynamic_cast<const Named &>(*all.back()).label(), 1);
    } catch (const std::bad_cast &) {
        note("bad cast", 1);
    }
}

static void library()
{
    std::map<std::string, std::vector<long>> table;
    for (long i = 0; i < 200; i++)
        table["key" + std::to_string(i * 7919 % 13)].push_back(i * i);
    long total = 0;
    for (const auto &[key, values] : table)
        for (long value : values)
            total += value * static_cast<long>(key.size());
    note("table", total);
    const std::function<long()> wrong[] = {
        [&]() { return table.at("missing").front(); },
        [&]() { return table["key1"].at(1000); },
        []() { return std::stol("12x34 is read up to the x"); },
        []() { return std::stol("no number"); },
        []() { return static_cast<long>(std::string("abc").substr(9).size()); },
        []() { return *new long[SIZE_MAX / 16]; },
        std::function<long()>(),
    };
    for (const auto &call : wrong) {
        try {
            note("fine", call());
        } catch (const std::out_of_range &) {
            note("out of range", 1);
        } catch (const std::logic_error &) {
            note("logic error", 2);
        } catch (const std::bad_alloc &) {
            note("bad alloc", 3);
        } catch (const std::exception &) {
            note("another", 4);
        }
    }
}

// An exception that outlives the place that caught it.
static void kept()
{
    std::exception_ptr first;
    try {
        descend(2, 1);
    } catch (...) {
        first = std::current_exception();
    }
    note("kept", first != nullptr);
    try {
        try {
            std::rethrow_exception(first);
        } catch (const Failure &) {
            std::throw_with_nested(std::logic_error("around it"));
        }
    } catch (const std::logic_error &e) {
        note(e.what(), Guard::live);
        try {
            std::rethrow_if_nested(e);
        } catch (const Underflow &inner) {
            note("inside it", inner.place);
        }
    }
}

int main(int argc, char **argv)
{
    const long rounds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1;
    for (long round = 0; round < rounds; round++) {
        for (int kind = 0; kind <= 5; kind++)
            note("returned", outer(kind));
        shapes();
        library();
        kept();
    }
    note("alive", Guard::live);
    std::printf("%016llx\n", static_cast<unsigned long long>(sum));
    return static_cast<int>(sum % 200) + 1;
}
