/* A loop without output. Behind --max-instructions N, the slots of the CPI stack are the commit width times
   the cycles, for every N. */
int main(void)
{
    volatile int s = 0;
    for (int i = 0; i < 10000; i++)
        s += i;
    return 0;
}
