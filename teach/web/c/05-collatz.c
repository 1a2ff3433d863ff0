// Halve or triple: a branch that follows the data.
// Prints: 111
void print(long);

int main(void) {
  unsigned long n = 27;
  long steps = 0;
  while (n != 1) {
    if (n % 2 == 0)
      n = n / 2;
    else
      n = 3 * n + 1;
    steps++;
  }
  print(steps);
  return 0;
}
