// Threads as C++ has them. Right: "sum 328350, futures 285, once 1, shared 4000, thrown caught".
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <future>
#include <mutex>
#include <numeric>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

thread_local int calls = 0;

int main() {
    std::vector<long> parts(4);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&parts, t] {
            for (long i = t; i < 100; i += 4)
                parts[t] += i * i, calls++;
        });
    for (auto &thread : threads)
        thread.join();
    std::vector<std::future<int>> futures;
    for (int i = 0; i < 10; i++)
        futures.push_back(std::async(std::launch::async, [i] { return i * i; }));
    int total = 0;
    for (auto &future : futures)
        total += future.get();
    std::once_flag flag;
    std::atomic<int> once{0};
    std::shared_mutex shared;
    long value = 0;
    threads.clear();
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            std::call_once(flag, [&] { once++; });
            for (int i = 0; i < 1000; i++) {
                {
                    std::shared_lock lock(shared);
                    if (value < 0)
                        return;
                }
                std::unique_lock lock(shared);
                value++;
            }
        });
    for (auto &thread : threads)
        thread.join();
    auto failing = std::async(std::launch::async, []() -> int { throw std::runtime_error("caught"); });
    const char *thrown = "nothing";
    std::string text;
    try {
        failing.get();
    } catch (const std::exception &e) {
        text = e.what();
        thrown = text.c_str();
    }
    std::printf("sum %ld, futures %d, once %d, shared %ld, thrown %s\n",
                std::accumulate(parts.begin(), parts.end(), 0L), total, once.load(), value, thrown);
}
