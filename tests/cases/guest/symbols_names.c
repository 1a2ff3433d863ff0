// A library whose functions are called as often as the numbers here say.
__attribute__((noinline)) int shared_leaf(int value) { return 3 * value + 1; }

// No dynamic symbol names it.
__attribute__((noinline)) static int hidden_helper(int value)
{
    __asm__ volatile("" : "+r"(value));
    return value + 5;
}

// Through the table of addresses, since another object may have a function of this name.
int shared_outer(int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += shared_leaf(hidden_helper(i));
    return sum;
}
