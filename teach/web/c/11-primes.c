// The sieve of Eratosthenes: strides through memory.
// Prints: 46
void print(long);

char crossed[200];

int main(void) {
  long count = 0;
  for (long n = 2; n < 200; n++) {
    if (crossed[n])
      continue;
    count++;
    for (long m = n * n; m < 200; m += n)
      crossed[m] = 1;
  }
  print(count);
  return 0;
}
