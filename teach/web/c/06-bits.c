// Counts the ones of numbers, with as many rounds as there are ones.
// Prints: 1659
void print(long);

long ones(unsigned long n) {
  long count = 0;
  while (n) {
    n &= n - 1;
    count++;
  }
  return count;
}

int main(void) {
  long sum = 0;
  for (unsigned long n = 0; n < 256; n++)
    sum += ones(n + (n << 5));
  print(sum);
  return 0;
}
