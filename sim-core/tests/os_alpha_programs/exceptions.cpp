#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Noisy {
    std::string name;
    ~Noisy() { std::cout << "destroy " << name << "\n"; }
};

int descend(int n)
{
    Noisy noisy{std::to_string(n)};
    if (n == 0)
        throw std::runtime_error("at the bottom");
    return descend(n - 1) + 1;
}

int main()
{
    try {
        descend(5);
    } catch (const std::exception &e) {
        std::cout << "caught " << e.what() << "\n";
    }
    try {
        std::vector<int>(3).at(10) = 1;
    } catch (const std::out_of_range &) {
        std::cout << "out of range\n";
    }
    std::map<std::string, double> values;
    for (int i = 0; i < 10; i++) {
        std::ostringstream key;
        key << "k" << i;
        values[key.str()] = i / 3.0;
    }
    for (auto &value : values)
        std::cout << value.first << "=" << value.second << " ";
    std::cout << std::endl;
    return 7;
}
